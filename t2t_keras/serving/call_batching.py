"""Batches of rows from the `Call`s of several requests, whose options may differ."""

from typing import NamedTuple

import numpy as np

from t2t_keras.serving.batching import Batcher
from t2t_keras.translating.calls import BATCH_TOKENS, computed


class Method(NamedTuple):
    """A method of an engine, which batches of `Call`s use in place of a `Signature`."""

    name: str
    results: int  # maximum results for a row of a search
    room: int  # maximum rows × width of a batch
    batchable = True

    def compute(self, calls):
        """Computes the rows of several calls as one batch; returns the results of each.

        Args:
            calls: (engine, columns) of each call. All engines have the same search settings.
        """
        engine, first = calls[0]
        columns = {name: [row for _, each in calls for row in each[name]] for name in first}
        results = iter(computed(engine, self.name, columns))
        return [[next(results) for _ in each["source"]] for _, each in calls]

    def values(self, width):
        """Returns the maximum number of values in the answer for a row."""
        width = int(width)
        return {"search": self.results * width, "log_p": width}.get(self.name, width**2)


class CallBatcher(Batcher):
    """Computes `Call`s of one method, with the same columns, on the engine of one version."""

    @property
    def room(self):
        return self.signature.room

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
            inputs = call.engine, columns
            found = await self.computed(inputs, connection, width[rows], call.key)
            connection.hold(sum(map(bytes_of, found)))
            for row, result in zip(rows, found, strict=True):
                results[row] = result
        return results


def method_of(call):
    """Returns the `Method` of a `Call`."""
    engine = call.engine
    return Method(call.method, engine.most, BATCH_TOKENS.get(call.method, engine.batch_tokens))


def widths(call):
    """Returns {row: number of tokens}, including the tokens of phrases."""
    lengths = call.lengths()
    for row, phrases in enumerate(call.columns.get("phrases", ())):
        lengths[row] += sum(map(len, phrases))
    return lengths


def bytes_of(result):
    """Returns the memory of a row's result."""
    return sum(array.nbytes for array in (result if isinstance(result, tuple) else [result]))
