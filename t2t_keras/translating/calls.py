"""What a `Translator` asks an engine, in rows that whoever drives it divides into batches."""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.decoding.batches import LONGEST, batches, padded
from t2t_keras.decoding.rows import Hypotheses, Rows
from t2t_keras.translating.required_phrases import padded_phrases

# Maximum rows × length of a batch. The logits of all tokens, and the weights of all heads, need
# more memory than the caches of a search, for which the engine has the maximum.
BATCH_TOKENS = {"log_p": 2048, "attention": 1024}


class Call(NamedTuple):
    """Rows for a method of an engine.

    Args:
        engine: the engine.
        method: "search", "log_p" or "attention".
        columns: {name: list with an item for each row}. "search" has source, index and, if rows
            have them, prefix, phrases and options; the others have source and target. Sources and
            targets are ids with their end.
        before, total: number of rows of the same texts that are searched for earlier, and in all.
    """

    engine: Any
    method: str
    columns: dict
    before: int = 0
    total: int = 0

    @property
    def key(self):
        """Rows with equal keys may share a batch."""
        return self.method, self.engine.kind, repr(self.engine.config), *self.columns

    def lengths(self):
        """Returns the length of each row, in tokens."""
        sides = [self.columns[side] for side in ("source", "target") if side in self.columns]
        return {row: max(map(len, ids)) for row, ids in enumerate(zip(*sides, strict=True))}


def computed(engine, method, columns):
    """Returns a list with the result of each row of a batch.

    They are `Hypotheses` of the row, log P of the target's tokens, or weights `[target, source]`.

    Args:
        engine, method, columns: see `Call`.
    """
    if method == "search":
        hypotheses = engine.search(rows_of(columns, engine.longest))
        tokens, scores = (np.asarray(part) for part in hypotheses)
        return [Hypotheses(*row) for row in zip(tokens, scores, strict=True)]
    source, target = (padded(columns[side], engine.longest) for side in ("source", "target"))
    results = np.asarray(getattr(engine, method)(source, target))
    sizes = zip(map(len, columns["target"]), map(len, columns["source"]), strict=True)
    if method == "log_p":
        return [row[:written] for row, (written, _) in zip(results, sizes, strict=True)]
    return [row[:written, :read] for row, (written, read) in zip(results, sizes, strict=True)]


def rows_of(columns, longest=None):
    """Returns the `Rows` of columns, padded to a common length."""
    columns = dict(columns)
    source = padded(columns.pop("source"), min(longest or LONGEST, LONGEST))
    index, prefix, phrases = (columns.pop(name, None) for name in ("index", "prefix", "phrases"))
    if prefix is not None:
        prefix = padded(prefix)
    if phrases is not None:
        phrases = padded_phrases(phrases)
    return Rows(source, np.asarray(index), prefix, phrases, columns)


def driven(steps, on_progress=lambda done, total: None):
    """Drives a generator of `Call`s, and returns what it returns.

    Args:
        steps: the generator. It is sent a list with the result of each row.
        on_progress: called with the number of rows searched for so far, and of all rows.
    """
    results = None
    try:
        while True:
            call = steps.send(results)
            is_search = call.method == "search"
            results = answered(call, on_progress if is_search else lambda done, total: None)
    except StopIteration as stop:
        return stop.value


def answered(call, on_progress):
    """Returns a list with the result of each row of a `Call`.

    Args:
        call: the `Call`.
        on_progress: see `driven`.
    """
    results, done = [None] * len(call.columns["source"]), call.before
    tokens = BATCH_TOKENS.get(call.method, call.engine.batch_tokens)
    for batch in batches(call.lengths(), tokens):
        columns = {name: [values[row] for row in batch] for name, values in call.columns.items()}
        found = computed(call.engine, call.method, columns)
        for row, result in zip(batch, found, strict=True):
            results[row] = result
        done += len(batch)
        on_progress(done, call.total)
    return results
