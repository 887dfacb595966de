"""Advances the translations of requests, without threads that wait for batches.

Between two calls of the engine, a translation runs Python code. Short code runs immediately. Long
code would delay other requests, so it runs in a few threads, for which clients take turns.
"""

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor

from t2t_keras.serving.turns import Turns, Workplaces

AT_ONCE = 2  # maximum requests whose Python code runs in threads at the same time


class Steps:
    """Advances the generators of requests."""

    def __init__(self):
        self.threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="steps")
        self.turns, self.places = Turns(), Workplaces(AT_ONCE)

    async def __call__(self, steps, called, client, is_short):
        """Runs a generator to its end and returns its return value.

        Args:
            steps: generator of `Call`s.
            called: coroutine function that takes a `Call` and returns the list of its results.
            client: key of the client.
            is_short: whether the generator's code takes only a few milliseconds.
        """
        results = None
        while True:
            if is_short:
                call, value = advanced(steps, results)
            else:
                call, value = await self.in_thread(client, advanced, steps, results)
            if call is None:
                return value
            results = await called(call)

    async def in_thread(self, client, function, *arguments):
        """Runs a function in a thread at the client's next turn, and returns its result."""
        turn = Turn(client)
        self.turns.append(turn)
        self.start()
        try:
            await turn.begins
            work = asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)
        except BaseException:
            self.end(turn)
            raise
        # If the client disconnects, the code still runs up to its next call.
        work.add_done_callback(functools.partial(self.ended, turn))
        return await asyncio.shield(work)

    def ended(self, turn, work):
        """Ends the turn of finished code. Retrieves the error, in case nobody waits for it."""
        if not work.cancelled():
            work.exception()
        self.end(turn)

    def start(self):
        """Starts the next turns, as long as places are free."""
        while turn := self.turns.first(self.places):
            self.turns.pop(turn)
            if not turn.begins.done():  # otherwise its client has disconnected
                self.places.take([turn.client])
                turn.runs = True
                turn.begins.set_result(None)

    def end(self, turn):
        """Ends a turn."""
        if turn.runs:
            turn.runs = False
            self.places.give_back([turn.client])
            self.start()


class Turn:
    """A request's turn to run Python code."""

    rows = 1  # required by `Turns`

    def __init__(self, client):
        self.client, self.runs = client, False
        self.begins = asyncio.get_running_loop().create_future()


def advanced(steps, results):
    """Returns (next `Call` of a generator, None), or (None, its return value) at its end."""
    try:
        return steps.send(results), None
    except StopIteration as stop:
        return None, stop.value
