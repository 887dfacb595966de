"""Assembles the batches of a plan from an id store, as NumPy arrays.

    store = IdStore.read("data/train")
    plan = BatchPlan(store.all_lengths + 1, BatchConfig(tokens=25000), seed=1)
    model.fit(batches(store, plan), steps_per_epoch=plan.steps)  # shuffled differently each epoch

A batch is `({"source", "target"}, labels)` in int32, padded with 0 to one of the plan's widths.
Begin and end ids are added to the stored tokens: source = tokens + end, target = begin + tokens,
labels = tokens + end.
"""

import itertools

import numpy as np

from pipelines.special_ids import BEGIN, END


def assemble(store, examples, width, rows, encodings=None):
    """Returns one batch. Sentences that exceed `width` are truncated, but keep their end id.

    Args:
        store: an `IdStore`.
        examples: indices of the pairs.
        width: number of positions per row.
        rows: number of rows. The rows after the examples are padding.
        encodings: indices of the source and target encodings, `[examples, 2]`. If None, the
            encodings without dropout are used.
    """
    examples = np.asarray(examples)
    all_rows = np.arange(len(examples))
    if encodings is None:
        encodings = np.zeros((len(examples), 2), int)
    lengths = store.all_lengths[encodings, examples[:, None], (0, 1)]
    lengths = np.minimum(lengths, width - 1)
    source = store.gather("source", examples, width, encodings[:, 0])
    labels = store.gather("target", examples, width, encodings[:, 1])
    target = np.roll(labels, 1, axis=1)
    target[:, 0] = BEGIN  # replaces the last column, which `roll` moved to the front
    source[all_rows, lengths[:, 0]] = END
    labels[all_rows, lengths[:, 1]] = END
    padding = [(0, rows - len(examples)), (0, 0)]
    source, target, labels = (np.pad(ids, padding) for ids in (source, target, labels))
    return {"source": source, "target": target}, labels


def batches(store, plan, start_step=0, steps=None, worker=0, workers=1, replicas=1):
    """Yields NumPy batches from `start_step` on.

    Args:
        store: an `IdStore`.
        plan: a `BatchPlan` for `store.all_lengths + 1`.
        start_step: index of the first batch, counted from 0 across all epochs.
        steps: number of batches. If None, unlimited for a shuffled plan, and otherwise the rest of
            one epoch.
        worker, workers: index of this worker and number of workers. Each worker gets an equal
            share of consecutive rows of every batch.
        replicas: number of parts into which the worker's share is split. Each part is yielded as a
            separate batch.

    All shares have the same number of rows, so the last one may end with rows of padding.
    """
    if steps is None and plan.seed is None:
        steps = max(0, plan.steps - start_step)
    indices = itertools.count(start_step)
    for step in indices if steps is None else itertools.islice(indices, steps):
        examples, width, rows = plan.batch(step)
        encodings = plan.encodings_in(step)
        share = -(-rows // (workers * replicas))
        for part in range(worker * replicas, (worker + 1) * replicas):
            own = slice(part * share, (part + 1) * share)
            yield assemble(store, examples[own], width, share, encodings[own])
