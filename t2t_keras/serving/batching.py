"""Batches of rows from the `Call`s of requests that arrive at about the same time.

Each kind of call has a queue in which clients take turns. A batch takes rows from the front of the
queue until it is full, and each request gets its own rows back. A call with many rows is computed
in parts, one after the other, so that other requests get their turn in between. A running batch is
not interrupted, so one worker is reserved for clients that no other worker is serving.
"""

import asyncio
import collections
import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from absl import logging

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.turns import Turns, Workplaces
from t2t_keras.translating.calls import BATCH_TOKENS, computed

MOST_MORE = 4  # another client's job may have at most this many times the first job's rows
CLIENT_SHARE = 4  # a client's maximum rows in flight, as a multiple of the free rows


class Workers:
    """The threads in which models compute, and the count of rows in flight.

    Args:
        limits: `Limits`.
        metrics: `Metrics`.
    """

    def __init__(self, limits, metrics):
        self.limits, self.metrics = limits, metrics
        workers = limits.workers + 1  # the last is for a client that no other worker serves
        self.threads = ThreadPoolExecutor(workers, thread_name_prefix="model")
        self.places = Workplaces(workers)
        self.rows, self.rows_of = 0, collections.Counter()

    @contextlib.contextmanager
    def admitted(self, rows, client):
        """Counts the rows of a request until it is answered, or raises `Refusal`.

        A request may take at most half of the free rows. So large requests are refused first when
        the queue fills up, and a new client always finds room for one row.
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

    async def run(self, method, jobs):
        """Returns the results of each `Job` of a batch."""
        with self.metrics.computing(method, sum(job.rows for job in jobs)):
            return await asyncio.get_running_loop().run_in_executor(self.threads, results_of, jobs)


class Job:
    """Rows of one call that go into one batch.

    Args:
        call: a `Call` with these rows.
        client: key of the client.
        width: width of the widest row.
    """

    def __init__(self, call, client, width):
        loop = asyncio.get_running_loop()
        self.call, self.client, self.width = call, client, width
        self.rows, self.key = len(call.columns["source"]), call.key
        self.arrived, self.results = loop.time(), loop.create_future()


class Batcher:
    """Computes the `Call`s of one method, with the same columns, on the engine of one version.

    Args:
        call: the first of these calls.
        workers: the `Workers` that all batchers share.
    """

    def __init__(self, call, workers):
        self.method, self.workers, self.limits = call.method, workers, workers.limits
        self.engine = call.engine
        self.jobs, self.change = Turns(), asyncio.Event()
        self.running = set()
        self.task = asyncio.create_task(self.work())

    async def __call__(self, call, connection):
        """Returns a list with the result of each row of a `Call`.

        Args:
            call: the `Call`. Its rows must have been admitted.
            connection: the `Connection` of the request, which counts the memory of the results.
        """
        width = np.array([*widths(call).values()])
        order, results = np.argsort(width, kind="stable"), [None] * len(width)
        for rows in self.parts(order, width):
            columns = {name: [values[row] for row in rows] for name, values in call.columns.items()}
            job = Job(call._replace(columns=columns), connection.client, max(width[rows]))
            self.jobs.append(job)
            self.change.set()
            found = await job.results
            connection.hold(sum(map(bytes_of, found)))
            for row, result in zip(rows, found, strict=True):
                results[row] = result
        return results

    def parts(self, order, width):
        """Splits rows, sorted by width, into parts that each fit into one batch."""
        part = []
        for row in order:
            if part and not self.fits(len(part) + 1, width[row]):
                yield part
                part = []
            part.append(row)
        yield part

    def fits(self, rows, width):
        """Whether a batch may have `rows` rows of this width."""
        return (
            rows <= self.limits.max_batch_rows
            and rows * width <= BATCH_TOKENS.get(self.method, self.engine.batch_tokens)
            and rows * self.values(int(width)) <= self.limits.max_answer_values
        )

    def values(self, width):
        """Returns the maximum number of values in the result for a row."""
        if self.method == "all_attention":
            return heads(self.engine) * width**2
        return {"search": self.engine.most * width, "attention": width**2}.get(self.method, width)

    async def work(self):
        while True:
            await self.rows_to_compute()
            self.change.clear()
            if batch := self.next_batch():
                clients = {job.client for job in batch}
                self.workers.places.take(clients)
                task = asyncio.create_task(self.compute(batch, clients))
                self.running.add(task)
                task.add_done_callback(self.running.discard)
                await asyncio.sleep(0)  # other kinds of calls get their turn
            elif self.jobs.rows:
                self.workers.places.waiting.append(self)
                await self.change.wait()

    async def rows_to_compute(self):
        """Waits for the first rows, then a moment for more rows to join them."""
        while not self.jobs.rows:
            self.change.clear()
            await self.change.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self.jobs.oldest() + self.limits.batch_wait_ms / 1000):
                while self.jobs.rows < self.limits.max_batch_rows:
                    self.change.clear()
                    await self.change.wait()

    def next_batch(self):
        """Returns the jobs of the next batch, or none if no worker is free for them."""
        batch, rows, width = [], 0, 0
        while job := self.jobs.first(self.workers.places):
            if job.results.done():  # the client has disconnected
                self.jobs.pop(job)
                continue
            rows, width = rows + job.rows, max(width, job.width)
            if batch and not (joins(job, batch[0]) and self.fits(rows, width)):
                break
            self.jobs.pop(job)
            batch.append(job)
        return batch

    async def compute(self, batch, clients):
        try:
            await self.answer(batch)
        finally:
            self.workers.places.give_back(clients)

    async def answer(self, batch):
        try:
            results = await self.workers.run(self.method, batch)
        except Exception as error:
            if len(batch) == 1:
                logging.exception("The engine failed in %s", self.method)
                if not batch[0].results.done():
                    batch[0].results.set_exception(error)
                return
            for job in batch:  # one bad job must not fail the others
                await self.answer([job])
            return
        for job, own in zip(batch, results, strict=True):
            if not job.results.done():
                job.results.set_result(own)

    def close(self):
        self.task.cancel()


def joins(job, first):
    """Whether a job may share the batch of `first`, and would not delay it by much."""
    return job.key == first.key and (
        job.client == first.client or job.rows <= MOST_MORE * first.rows
    )


def results_of(jobs):
    """Computes the rows of several `Job`s as one batch; returns a list of results for each."""
    call = jobs[0].call
    columns = {
        name: [row for job in jobs for row in job.call.columns[name]] for name in call.columns
    }
    results = iter(computed(call.engine, call.method, columns))
    return [[next(results) for _ in range(job.rows)] for job in jobs]


def widths(call):
    """Returns {row: number of tokens}, including the tokens of phrases."""
    lengths = call.lengths()
    for row, phrases in enumerate(call.columns.get("phrases", ())):
        lengths[row] += sum(map(len, phrases))
    return lengths


def heads(engine):
    """Returns the number of attention heads in the result of `all_attention`."""
    return sum(layers * heads for layers, heads in engine.attention_sizes().values())


def bytes_of(result):
    """Returns the memory of a row's result: an array, or several."""
    if isinstance(result, dict):
        result = tuple(result.values())
    return sum(array.nbytes for array in (result if isinstance(result, tuple) else [result]))
