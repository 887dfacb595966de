"""Batches of rows from requests that arrive at about the same time.

Each signature has a queue in which clients take turns. A batch takes rows from the front of the
queue until it is full, and each request gets its own rows back. A request with many rows is
computed in parts, one after the other, so that other requests get their turn in between. A running
batch is not interrupted, so one worker is reserved for clients that no other worker is serving.
"""

import asyncio
import collections
import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from absl import logging

from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.turns import Turns, Workplaces

BYTES_PER_ROW = 500  # maximum average bytes per row of a full batch, counting padding
VALUES_PER_BATCH = 4096  # maximum numbers in a batch, counting padding
BYTES_PER_VALUE = 20  # estimated memory of a number in an answer, as JSON
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

    async def run(self, signature, requests, rows):
        """Returns the outputs of each request of a batch."""
        with self.metrics.computing(signature.name, rows):
            return await asyncio.get_running_loop().run_in_executor(
                self.threads, signature.compute, requests
            )


class Job:
    """Rows of one request that go into one batch.

    Args:
        inputs: the rows' inputs, for the signature's `compute`.
        client: key of the client.
        rows: number of rows.
        width: width of the widest row.
        key: key of the batch. Only jobs with equal keys may share a batch.
    """

    def __init__(self, inputs, client, rows, width, key):
        loop = asyncio.get_running_loop()
        self.inputs, self.client, self.arrived = inputs, client, loop.time()
        self.outputs = loop.create_future()
        self.rows, self.width, self.key = rows, width, key


class Batcher:
    """Computes the requests for one signature of one version.

    Args:
        signature: a `Signature`.
        workers: the `Workers` that all batchers share.
    """

    def __init__(self, signature, workers):
        self.signature, self.workers, self.limits = signature, workers, workers.limits
        self.jobs, self.change = Turns(), asyncio.Event()
        self.running = set()
        self.task = asyncio.create_task(self.work())

    async def __call__(self, inputs, connection):
        """Computes one request; returns {output: array}, with rows in the order of the inputs.

        Args:
            inputs: {input: array}.
            connection: the request's `Connection`, which tracks the memory held by the results.
        """
        width = widths(inputs)
        self.check_size(width.max())
        with self.workers.admitted(len(width), connection.client):
            order = np.argsort(width, kind="stable")  # rows of similar length share a batch
            parts, values = [], 0
            for rows in self.parts(order, width):
                own = {name: array[rows] for name, array in inputs.items()}
                # Arrays can be concatenated if they differ only in the number of rows.
                shapes = {name: array.shape[1:] for name, array in own.items()}
                outputs = await self.computed(own, connection, width[rows], shapes)
                parts.append(outputs)
                values += sum(array.size for array in outputs.values())
                if values > self.limits.max_answer_values:
                    raise Refusal(
                        413,
                        f"The answer would have more than {self.limits.max_answer_values:,} "
                        "values. Send fewer or shorter texts",
                    )
                connection.hold(sum(map(bytes_of, outputs.values())))
        return joined(parts, np.argsort(order))

    async def computed(self, inputs, connection, width, key):
        """Returns the outputs of rows that fit into one batch.

        Args:
            inputs, key: see `Job`.
            connection: the `Connection` of the request.
            width: width of each row.
        """
        job = Job(inputs, connection.client, len(width), max(width), key)
        self.jobs.append(job)
        self.change.set()
        return await job.outputs

    def check_size(self, width):
        """Rejects a row whose results alone might exceed the memory limit."""
        size, limit = 4 * self.signature.values(width), self.limits.max_memory_mb * 1_000_000
        if size > limit:
            raise Refusal(
                413,
                f"The answer for a row of {width:,} bytes or numbers may need {size // 1_000_000:,}"
                f" MB; at most {self.limits.max_memory_mb:,} are allowed. Send shorter rows",
            )

    def parts(self, order, width):
        """Splits rows, sorted by width, into parts that each fit into one batch."""
        part = []
        for row in order:
            if part and not self.fits(len(part) + 1, width[row]):
                yield part
                part = []
            part.append(row)
        yield part

    @property
    def room(self):
        """Maximum rows × width of a batch."""
        takes_text = self.signature.takes_text
        return self.limits.max_batch_rows * BYTES_PER_ROW if takes_text else VALUES_PER_BATCH

    def fits(self, rows, width):
        """Whether a batch may have `rows` rows of this width."""
        return (
            rows <= self.limits.max_batch_rows
            and rows * width <= self.room
            and rows * self.signature.values(width) <= self.limits.max_answer_values
        )

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
                await asyncio.sleep(0)  # other signatures get their turn
            elif self.jobs.rows:
                self.workers.places.waiting.append(self)
                await self.change.wait()

    async def rows_to_compute(self):
        """Waits for the first rows, then a moment for more rows to join them."""
        while not self.jobs.rows:
            self.change.clear()
            await self.change.wait()
        if not self.signature.batchable:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self.jobs.oldest() + self.limits.batch_wait_ms / 1000):
                while self.jobs.rows < self.limits.max_batch_rows:
                    self.change.clear()
                    await self.change.wait()

    def next_batch(self):
        """Returns the jobs of the next batch, or none if no worker is free for them."""
        batch, rows, width = [], 0, 0
        while job := self.jobs.first(self.workers.places):
            if job.outputs.done():  # the client has disconnected
                self.jobs.pop(job)
                continue
            rows, width = rows + job.rows, max(width, job.width)
            if batch and not (self.joins(job, batch[0]) and self.fits(rows, width)):
                break
            self.jobs.pop(job)
            batch.append(job)
        return batch

    def joins(self, job, first):
        """Whether a job may share the batch of `first`, and would not delay it by much."""
        return (
            self.signature.batchable
            and job.key == first.key
            and (job.client == first.client or job.rows <= MOST_MORE * first.rows)
        )

    async def compute(self, batch, clients):
        try:
            await self.answer(batch)
        finally:
            self.workers.places.give_back(clients)

    async def answer(self, batch):
        rows = sum(job.rows for job in batch)
        try:
            outputs = await self.workers.run(self.signature, [job.inputs for job in batch], rows)
        except Exception as error:
            if len(batch) == 1:
                if not isinstance(error, Refusal):
                    logging.exception("Signature %s failed", self.signature.name)
                if not batch[0].outputs.done():
                    batch[0].outputs.set_exception(error)
                return
            for job in batch:  # one bad job must not fail the others
                await self.answer([job])
            return
        for job, own in zip(batch, outputs, strict=True):
            if not job.outputs.done():
                job.outputs.set_result(own)

    def close(self):
        self.task.cancel()


def widths(inputs):
    """Returns the width of each row: the bytes of its longest text, or its number of values."""
    columns = []
    for array in inputs.values():
        rows = array.reshape(len(array), -1)
        if array.dtype == object:
            columns.append([sum(map(len, row)) for row in rows])
        else:
            columns.append([rows.shape[1]] * len(rows))
    return np.max(columns, axis=0)


def bytes_of(array):
    """Estimates the memory of an output and of its JSON text."""
    if array.dtype == object:
        return 2 * sum(map(len, array.flat)) + 100 * array.size
    return BYTES_PER_VALUE * array.size


def joined(parts, order):
    """Concatenates the outputs of parts, padded to a common shape, and reorders the rows."""
    if len(parts) == 1:
        return {name: array[order] for name, array in parts[0].items()}
    return {name: stacked([part[name] for part in parts])[order] for name in parts[0]}


def stacked(arrays):
    rows = sum(len(array) for array in arrays)
    inner = np.max([array.shape[1:] for array in arrays], axis=0).astype(int)
    padding = b"" if arrays[0].dtype == object else 0
    whole = np.full((rows, *inner), padding, arrays[0].dtype)
    start = 0
    for array in arrays:
        whole[(slice(start, start + len(array)), *map(slice, array.shape[1:]))] = array
        start += len(array)
    return whole
