"""Turns of clients: a queue that is fair to all clients, and a place reserved for new ones."""

import collections
import math


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
