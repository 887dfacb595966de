"""Batches of rows from requests that arrive at about the same time.

Each signature has a queue. A batch takes the first rows of the queue and as many of the next as
fit, and each request gets its own rows back. A request with many rows is computed in parts, one
after the other, so that other requests get their turn in between.
"""

import asyncio
import collections
import contextlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from absl import logging

from t2t_keras.serving.limits import Refusal

BYTES_PER_ROW = 500  # a batch, padded to its longest row, has at most batch limit × this in bytes


class Workers:
    """The threads in which models compute, and the count of rows in flight.

    Args:
        limits: `Limits`.
        metrics: `Metrics`.
    """

    def __init__(self, limits, metrics):
        self.limits, self.metrics = limits, metrics
        self.threads = ThreadPoolExecutor(limits.workers, thread_name_prefix="model")
        self.free = asyncio.Semaphore(limits.workers)
        self.rows = 0

    @contextlib.contextmanager
    def admitted(self, rows):
        """Counts the rows of a request until it is answered. Rejects more rows than allowed."""
        if rows > self.limits.queue:
            raise Refusal(
                413, f"The request has {rows:,} rows; at most {self.limits.queue:,} are allowed"
            )
        if self.rows + rows > self.limits.queue:
            raise Refusal(429, "Too many requests are waiting. Try again in a moment")
        self.rows += rows
        self.metrics.waiting.set(self.rows)
        try:
            yield
        finally:
            self.rows -= rows
            self.metrics.waiting.set(self.rows)

    async def run(self, signature, inputs, rows):
        with self.metrics.computing(signature.name, rows):
            return await asyncio.get_running_loop().run_in_executor(
                self.threads, signature.run, inputs
            )


class Job:
    """Rows of one request that go into one batch."""

    def __init__(self, inputs):
        loop = asyncio.get_running_loop()
        self.inputs, self.arrived = inputs, loop.time()
        self.outputs = loop.create_future()
        self.rows = len(next(iter(inputs.values())))
        self.width = widths(inputs).max()
        # Jobs can be concatenated if their arrays differ only in the number of rows.
        self.shape = {name: array.shape[1:] for name, array in inputs.items()}


class Batcher:
    """Computes the requests for one signature of one version.

    Args:
        signature: a `Signature`.
        workers: the `Workers` that all batchers share.
    """

    def __init__(self, signature, workers):
        self.signature, self.workers, self.limits = signature, workers, workers.limits
        self.jobs, self.arrival = collections.deque(), asyncio.Event()
        self.running = set()
        self.task = asyncio.create_task(self.work())

    async def __call__(self, inputs):
        """Computes one request: takes and returns arrays by name, with the same order of rows."""
        width = widths(inputs)
        with self.workers.admitted(len(width)):
            order = np.argsort(width, kind="stable")  # rows of similar length share a batch
            parts, values = [], 0
            for rows in self.parts(order, width):
                job = Job({name: array[rows] for name, array in inputs.items()})
                self.jobs.append(job)
                self.arrival.set()
                parts.append(await job.outputs)
                values += sum(array.size for array in parts[-1].values())
                if values > self.limits.answer:
                    raise Refusal(
                        413,
                        f"The answer would have more than {self.limits.answer:,} values. Send "
                        "fewer or shorter texts",
                    )
        return joined(parts, np.argsort(order))

    def parts(self, order, width):
        """Splits rows, given shortest first, into parts that fit into one batch each."""
        part = []
        for row in order:
            if part and not self.fits(len(part) + 1, width[row]):
                yield part
                part = []
            part.append(row)
        yield part

    def fits(self, rows, width):
        limit = self.limits.batch
        return rows <= limit and rows * width <= limit * BYTES_PER_ROW

    async def work(self):
        while True:
            await self.rows_to_compute()
            await self.workers.free.acquire()
            batch = self.next_batch()
            if not batch:
                self.workers.free.release()
                continue
            task = asyncio.create_task(self.compute(batch))
            self.running.add(task)
            task.add_done_callback(self.running.discard)

    async def rows_to_compute(self):
        """Waits for the first rows, then a moment for more rows to join them."""
        while not self.jobs:
            self.arrival.clear()
            await self.arrival.wait()
        if not self.signature.batchable:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(self.jobs[0].arrived + self.limits.wait / 1000):
                while sum(job.rows for job in self.jobs) < self.limits.batch:
                    self.arrival.clear()
                    await self.arrival.wait()

    def next_batch(self):
        batch, rows, width = [], 0, 0
        while self.jobs:
            job = self.jobs[0]
            if job.outputs.done():  # the client has disconnected
                self.jobs.popleft()
                continue
            rows, width = rows + job.rows, max(width, job.width)
            if batch and not (
                self.signature.batchable and job.shape == batch[0].shape and self.fits(rows, width)
            ):
                break
            batch.append(self.jobs.popleft())
        return batch

    async def compute(self, batch):
        try:
            await self.answer(batch)
        finally:
            self.workers.free.release()

    async def answer(self, batch):
        ends = np.cumsum([job.rows for job in batch])
        try:
            inputs = {
                name: np.concatenate([job.inputs[name] for job in batch])
                for name in self.signature.inputs
            }
            outputs = await self.workers.run(self.signature, inputs, int(ends[-1]))
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
        for job, end in zip(batch, ends, strict=True):
            if not job.outputs.done():
                own = {name: array[end - job.rows : end] for name, array in outputs.items()}
                job.outputs.set_result(own)

    def close(self):
        self.task.cancel()


def widths(inputs):
    """Returns the width of each row: the bytes of its longest text, or its count of numbers."""
    columns = []
    for array in inputs.values():
        rows = array.reshape(len(array), -1)
        if array.dtype == object:
            columns.append([max(map(len, row), default=0) for row in rows])
        else:
            columns.append([rows.shape[1]] * len(rows))
    return np.max(columns, axis=0)


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
