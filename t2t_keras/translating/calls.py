"""The `Call`s that a `Translator` makes to an engine, and their computation in batches."""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.decoding.batches import LONGEST, batches, padded, stacked
from t2t_keras.decoding.rows import Hypotheses, Rows

# {method: maximum rows × length of a batch}. The logits of all tokens, and the weights of all
# heads, need more memory than the caches of a search, whose maximum is `Engine.batch_tokens`.
BATCH_TOKENS = {"log_p": 2048, "attention": 1024, "all_attention": 1024}


class Call(NamedTuple):
    """Rows for a method of an engine: "search", "log_p", "attention" or "all_attention"."""

    engine: Any
    method: str
    # {name: list with an item for each row}: "source", "index" and, if rows have them, "prefix" and
    # "phrases" of searches; "source" and "target", ids with the end tokens, of other methods.
    columns: dict
    before: int = 0  # rows in earlier searches for the same texts
    total: int = 0  # rows in all searches for these texts

    @property
    def key(self):
        """The key of the call. Rows of calls with equal keys may share a batch."""
        return self.method, self.engine.kind, repr(self.engine.config), *self.columns

    def lengths(self):
        """Returns {row: tokens of its source or target, whichever is longer}."""
        sides = [self.columns[side] for side in ("source", "target") if side in self.columns]
        return {row: max(map(len, ids)) for row, ids in enumerate(zip(*sides, strict=True))}


def call_of(engine, method, pairs):
    """Returns the `Call` of a method for (source, target) pairs of ids."""
    sources, targets = zip(*pairs, strict=True)
    return Call(engine, method, {"source": sources, "target": targets})


def computed(engine, method, columns):
    """Computes a batch; returns a list with the result of each row.

    The result is the `Hypotheses` of the row, log P of its target tokens, attention weights
    `[target, source]`, or the weights of all heads; see `Engine.all_attention`.
    """
    if method == "search":
        hypotheses = engine.search(rows_of(columns, engine.longest))
        tokens, scores = (np.asarray(part) for part in hypotheses)
        return [Hypotheses(*row) for row in zip(tokens, scores, strict=True)]
    if method == "all_attention":
        pairs = zip(columns["source"], columns["target"], strict=True)
        return [engine.all_attention(*pair) for pair in pairs]
    source, target = (padded(columns[side], engine.longest) for side in ("source", "target"))
    results = getattr(engine, method)(source, target)
    sizes = zip(map(len, columns["target"]), map(len, columns["source"]), strict=True)
    if method == "log_p":
        return [row[:written] for row, (written, _) in zip(results, sizes, strict=True)]
    return [row[:written, :read] for row, (written, read) in zip(results, sizes, strict=True)]


def rows_of(columns, longest=None):
    """Returns the `Rows` of columns, padded to a common length."""
    source = padded(columns["source"], min(longest or LONGEST, LONGEST))
    prefix, phrases = columns.get("prefix"), columns.get("phrases")
    if prefix is not None:
        prefix = padded(prefix)
    if phrases is not None:
        phrases = stacked([stacked([np.array(ids, "int32") for ids in each]) for each in phrases])
    return Rows(source, np.asarray(columns["index"]), prefix, phrases)


def driven(steps, on_progress=lambda done, total: None):
    """Runs a generator of `Call`s to its end and returns its return value.

    For each `Call`, the generator is sent a list with the result of each row. In searches,
    `on_progress` is called with the finished share of all rows, as a number of rows, and the number
    of all rows. A row counts by its length: the longest come first, and the time left is estimated
    from the share.
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
    """Returns a list with the result of each row of a `Call`; for `on_progress` see `driven`."""
    results, done = [None] * len(call.columns["source"]), 0
    tokens = BATCH_TOKENS.get(call.method, call.engine.batch_tokens)
    lengths = call.lengths()
    work = sum(lengths.values())
    for batch in batches(lengths, tokens):
        columns = {name: [values[row] for row in batch] for name, values in call.columns.items()}
        found = computed(call.engine, call.method, columns)
        for row, result in zip(batch, found, strict=True):
            results[row] = result
        done += sum(lengths[row] for row in batch)
        on_progress(call.before + len(results) * done // work, call.total)
    return results
