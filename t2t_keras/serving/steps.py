"""Drives the translations of requests, so that no thread waits for a batch.

Between two calls of the engine, a translation is Python code. It runs at once if it is short.
Longer code would hold up other requests, so it runs in few threads, and clients take turns.
"""

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor

from t2t_keras.serving.turns import Turns, Workplaces

AT_ONCE = 2  # requests whose Python code runs in a thread at the same time


class Steps:
    """Advances the generators of requests."""

    def __init__(self):
        self.threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="steps")
        self.turns, self.places = Turns(), Workplaces(AT_ONCE)

    async def __call__(self, steps, called, client, is_short):
        """Returns what a generator returns.

        Args:
            steps: generator of `Call`s.
            called: coroutine function from a `Call` to the list of its results.
            client: key of the client.
            is_short: whether its code is short.
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
        """Returns the result of a function that runs in a thread, at the client's next turn."""
        turn = Turn(client)
        self.turns.append(turn)
        self.start()
        try:
            await turn.begins
            work = asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)
        except BaseException:
            self.end(turn)
            raise
        # If the client disconnects, the code runs on to its next call.
        work.add_done_callback(functools.partial(self.ended, turn))
        return await asyncio.shield(work)

    def ended(self, turn, work):
        """Ends the turn of code that has run, whose error may concern nobody any more."""
        if not work.cancelled():
            work.exception()
        self.end(turn)

    def start(self):
        """Starts the next requests in the free places."""
        while turn := self.turns.first(self.places):
            self.turns.pop(turn)
            if not turn.begins.done():  # else its client has disconnected
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

    rows = 1  # for `Turns`

    def __init__(self, client):
        self.client, self.runs = client, False
        self.begins = asyncio.get_running_loop().create_future()


def advanced(steps, results):
    """Returns the next `Call` of a generator and None, or None and what it returns."""
    try:
        return steps.send(results), None
    except StopIteration as stop:
        return None, stop.value
