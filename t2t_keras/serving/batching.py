"""Batches of rows from the `Call`s of requests that arrive at about the same time.

A batch takes waiting rows of one kind of call until it is full, and each request gets its own rows
back. README.md says how clients take turns.
"""

import asyncio
import collections
import contextlib
from concurrent.futures import ThreadPoolExecutor

from absl import logging

from t2t_keras.serving.limits import Refusal
from t2t_keras.translating.calls import BATCH_TOKENS, computed

MOST_MORE = 4  # a job of another client joins a batch with at most this many times the first's rows
CLIENT_SHARE = 4  # a client's maximum rows in flight, as a multiple of the free rows


class Job:
    """Rows of one call that go into one batch, which jobs of the same kind may share."""

    def __init__(self, call, kind, client, width):
        self.call, self.kind, self.client, self.width = call, kind, client, width
        self.rows = len(call.columns["source"])
        self.results = asyncio.get_running_loop().create_future()
        self.due = 0.0  # time when the job waits no longer for more rows
        self.turn = 0  # rows that its client has had before, compared with other clients


class Batcher:
    """Computes the `Call`s of all models in a few threads, and counts the rows in flight."""

    def __init__(self, limits, metrics):
        self.limits, self.metrics = limits, metrics
        self.free = limits.workers + 1  # the last is for a client that no other worker serves
        self.threads = ThreadPoolExecutor(self.free, thread_name_prefix="model")
        self.works_for = collections.Counter()  # {client: batches being computed}
        self.waiting = {}  # {kind: its jobs in order of arrival}
        self.turn, self.next_turns = 0, {}  # the least turn that waits; {client: its next turn}
        self.rows, self.rows_of = 0, collections.Counter()
        self.running = set()

    @contextlib.contextmanager
    def admitted(self, rows, client):
        """Counts the rows of a request until it is answered, or raises `Refusal`.

        A request may take at most half of the free rows. When the queue fills up, large requests
        are therefore refused first, and a new client always finds room for one row.
        """
        left = self.limits.max_rows_in_flight - self.rows - rows
        if rows > left:
            raise Refusal(429, "Too many requests are waiting. Try again in a moment")
        if self.rows_of[client] + rows > CLIENT_SHARE * left:
            raise Refusal(
                429, "Too many requests from this address are waiting. Try again in a moment"
            )
        self.count(rows, client)
        try:
            yield
        finally:
            self.count(-rows, client)

    def count(self, rows, client):
        self.rows += rows
        self.rows_of[client] += rows
        if not self.rows_of[client]:
            del self.rows_of[client]
        self.metrics.waiting.set(self.rows)

    async def __call__(self, call, model, connection):
        """Returns a list with the result of each row of a `Call`, which must have been admitted.

        Calls of different models share no batch. The connection counts the memory of the results.
        """
        width, kind = widths(call), (model, *call.key)
        results = [None] * len(width)
        for rows in self.parts(call, width):
            columns = {name: [values[row] for row in rows] for name, values in call.columns.items()}
            part = call._replace(columns=columns)
            job = Job(part, kind, connection.client, max(width[row] for row in rows))
            self.add(job)
            found = await job.results
            connection.hold(sum(map(bytes_of, found)))
            for row, result in zip(rows, found, strict=True):
                results[row] = result
        return results

    def parts(self, call, width):
        """Divides the rows of a call, the short ones first, into parts that each fit a batch."""
        part = []
        for row in sorted(range(len(width)), key=width.__getitem__):
            if part and not self.fits(call, len(part) + 1, width[row]):
                yield part
                part = []
            part.append(row)
        yield part

    def fits(self, call, rows, width):
        """Whether a batch may have `rows` rows of this width."""
        most = BATCH_TOKENS.get(call.method, call.engine.batch_tokens)
        return rows <= self.limits.max_batch_rows and rows * width <= most

    def add(self, job):
        """Adds a job, which waits a moment for others to share its batch."""
        if not self.waiting:
            self.next_turns.clear()
        job.turn = max(self.turn, self.next_turns.get(job.client, 0))
        self.next_turns[job.client] = job.turn + job.rows
        jobs = self.waiting.setdefault(job.kind, [])
        jobs.append(job)
        loop, seconds = asyncio.get_running_loop(), self.limits.batch_wait_ms / 1000
        job.due = loop.time() + seconds
        loop.call_later(seconds, self.start)
        if self.is_free_for([job.client]) and self.is_full(jobs):
            self.start()

    def is_full(self, jobs):
        return sum(job.rows for job in jobs) >= self.limits.max_batch_rows

    def start(self):
        """Computes the next batches, as long as workers are free for them."""
        while self.is_free_for(self.next_turns) and (batch := self.next_batch()):
            self.free -= 1
            self.works_for.update({job.client for job in batch})
            task = asyncio.create_task(self.compute(batch))
            self.running.add(task)
            task.add_done_callback(self.running.discard)

    def next_batch(self):
        """Returns the jobs of the next batch, in a list that may be empty."""
        now, candidates = asyncio.get_running_loop().time(), []
        for kind, jobs in [*self.waiting.items()]:
            jobs[:] = [job for job in jobs if not job.results.done()]  # others have disconnected
            if not jobs:
                del self.waiting[kind]
            elif jobs[0].due <= now or self.is_full(jobs):
                candidates += [job for job in jobs if self.is_free_for([job.client])]
        batch, rows, width = [], 0, 0
        for job in sorted(candidates, key=self.order):
            first = batch[0] if batch else job
            if job.kind != first.kind:
                continue
            rows, width = rows + job.rows, max(width, job.width)
            is_small = job.client == first.client or job.rows <= MOST_MORE * first.rows
            if batch and not (is_small and self.fits(job.call, rows, width)):
                break
            batch.append(job)
            self.waiting[job.kind].remove(job)
        turns = (job.turn for jobs in self.waiting.values() for job in jobs)
        self.turn = min(turns, default=0)
        return batch

    def is_free_for(self, clients):
        """Whether a worker is free for one of these clients."""
        return self.free > 1 or (self.free == 1 and any(c not in self.works_for for c in clients))

    def order(self, job):
        return self.works_for[job.client], job.turn, job.rows

    async def compute(self, batch):
        try:
            await self.answer(batch)
        finally:
            self.free += 1
            self.works_for -= collections.Counter({job.client for job in batch})
            self.start()

    async def answer(self, batch):
        """Computes a batch and sets the results of its jobs."""
        method, loop = batch[0].call.method, asyncio.get_running_loop()
        try:
            with self.metrics.computing(method, sum(job.rows for job in batch)):
                results = await loop.run_in_executor(self.threads, results_of, batch)
        except Exception as error:
            for job in batch if len(batch) > 1 else ():  # one bad job must not fail the others
                await self.answer([job])
            if len(batch) == 1:
                logging.exception("The engine failed in %s", method)
                if not batch[0].results.done():
                    batch[0].results.set_exception(error)
            return
        for job, own in zip(batch, results, strict=True):
            if not job.results.done():
                job.results.set_result(own)


def results_of(jobs):
    """Computes the rows of several `Job`s as one batch; returns a list of results for each."""
    call = jobs[0].call
    columns = {
        name: [row for job in jobs for row in job.call.columns[name]] for name in call.columns
    }
    results = iter(computed(call.engine, call.method, columns))
    return [[next(results) for _ in range(job.rows)] for job in jobs]


def widths(call):
    """Returns the number of tokens of each row, including the tokens of phrases."""
    lengths = [*call.lengths().values()]
    for row, phrases in enumerate(call.columns.get("phrases", ())):
        lengths[row] += sum(map(len, phrases))
    return lengths


def bytes_of(result):
    """Returns the memory of a row's result: an array, or several in a tuple or a dict."""
    if isinstance(result, dict):
        result = tuple(result.values())
    return sum(array.nbytes for array in (result if isinstance(result, tuple) else [result]))
