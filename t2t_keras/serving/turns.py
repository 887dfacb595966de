"""Turns of clients: a queue that is fair to all clients, and a place reserved for new ones.

Between two calls of the engine, a translation runs Python code. Short code runs immediately. Long
code would delay other requests, so `Steps` runs it in a few threads, for which clients take turns.
"""

import asyncio
import collections
import functools
import math
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 2  # maximum requests whose Python code runs in threads at the same time


class Turns:
    """A queue of jobs in which the client that has received the fewest rows is next.

    A client that joins the queue counts as having received at least as many rows as the next
    client.
    """

    def __init__(self):
        self.queues = {}  # {client: its jobs}
        self.got = {}  # {client: rows of its jobs that have been taken}
        self.rows = 0

    def append(self, job):
        if job.client not in self.queues:
            if not self.queues:
                self.got.clear()
            least = min((self.got[client] for client in self.queues), default=0)
            self.got = {client: rows for client, rows in self.got.items() if rows >= least}
            self.got.setdefault(job.client, least)
            self.queues[job.client] = collections.deque()
        self.queues[job.client].append(job)
        self.rows += job.rows

    def first(self, places):
        """Returns the next job for which one of the `Workplaces` is free, or None.

        Clients that occupy the fewest places come first, then clients with the fewest rows.
        """

        def order(client):
            return places.works_for[client], self.got[client], self.queues[client][0].rows

        client = min(filter(places.may_take, self.queues), key=order, default=None)
        return None if client is None else self.queues[client][0]

    def oldest(self):
        """Returns the arrival time of the oldest waiting job."""
        return min(jobs[0].arrived for jobs in self.queues.values())

    def pop(self, job):
        """Removes the first job of a client."""
        jobs = self.queues.pop(job.client)
        jobs.popleft()
        if jobs:
            self.queues[job.client] = jobs  # after clients that have received as many rows
        self.got[job.client] += job.rows
        self.rows -= job.rows


class Workplaces:
    """Counts occupied places. The last free place is reserved for a client that has none.

    So no client has to wait until the long work of a different client is done.

    Args:
        count: number of places.
    """

    def __init__(self, count):
        self.free, self.works_for = count, collections.Counter()
        self.waiting = []  # objects with `jobs`, a `Turns`, and `change`, an `asyncio.Event`

    def may_take(self, client):
        return self.free > (1 if self.works_for[client] else 0)

    def take(self, clients):
        """Occupies a place for these clients."""
        self.free -= 1
        self.works_for.update(clients)

    def give_back(self, clients):
        self.free += 1
        self.works_for -= collections.Counter(clients)
        waiting, self.waiting = self.waiting, []
        for each in sorted(waiting, key=self.priority):
            each.change.set()

    def priority(self, waiting):
        """Returns the number of places that the next client occupies; fewer come first."""
        job = waiting.jobs.first(self)
        return math.inf if job is None else self.works_for[job.client]


class Steps:
    """Runs the Python code of requests."""

    def __init__(self):
        self.threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="steps")
        self.turns, self.places = Turns(), Workplaces(AT_ONCE)

    async def drive(self, steps, called, client, is_short):
        """Runs a generator of `Call`s to its end and returns its return value.

        Args:
            steps: the generator.
            called: coroutine function that takes a `Call` and returns the list of its results.
            client: key of the client.
            is_short: whether the generator's code takes only a few milliseconds.
        """
        results = None
        while True:
            call, value = await self.run(client, is_short, advanced, steps, results)
            if call is None:
                return value
            results = await called(call)

    async def run(self, client, is_short, function, *arguments):
        """Returns the result of a function, which runs immediately if it is short."""
        if is_short:
            return function(*arguments)
        return await self.in_thread(client, function, *arguments)

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
