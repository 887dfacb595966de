"""Clients take turns: a queue that each client has its own place in, and a place for newcomers."""

import collections


class Turns:
    """A queue of jobs in which clients take turns."""

    def __init__(self):
        self.queues = {}  # client to jobs; the client whose turn it is comes first
        self.rows = 0

    def append(self, job):
        self.queues.setdefault(job.client, collections.deque()).append(job)
        self.rows += job.rows

    def first(self, may_begin=lambda client: True):
        """Returns the next job of a client that may begin, or None."""
        return next((jobs[0] for client, jobs in self.queues.items() if may_begin(client)), None)

    def pop(self, job):
        """Removes a job that is the first of its client, whose next turn is after all others'."""
        jobs = self.queues.pop(job.client)
        jobs.popleft()
        if jobs:
            self.queues[job.client] = jobs
        self.rows -= job.rows


class Workplaces:
    """Counts who works. The last free place is for a client for whom no one works yet.

    So a client whose work takes long never makes another one wait for its end.

    Args:
        count: number of places.
    """

    def __init__(self, count):
        self.free, self.works_for = count, collections.Counter()
        self.waiting = collections.deque()  # `asyncio.Event`s

    def may_take(self, client):
        return self.free > (1 if self.works_for[client] else 0)

    def take(self, clients):
        """Takes a place to work for these clients."""
        self.free -= 1
        self.works_for.update(clients)

    def give_back(self, clients):
        self.free += 1
        self.works_for -= collections.Counter(clients)
        while self.waiting:
            self.waiting.popleft().set()
