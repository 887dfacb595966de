"""Assembles the batches of a plan from an id store, as NumPy arrays.

    store = IdStore.read("data/train")
    plan = BatchPlan(store.lengths + 1, BatchConfig(tokens=25000), seed=1)
    model.fit(batches(store, plan), steps_per_epoch=plan.steps)  # shuffled differently each epoch

A batch is `({"source", "target"}, labels)` in int32, padded with 0 to one of the plan's widths.
Begin and end ids are added to the stored tokens: source = tokens + end, target = begin + tokens,
labels = tokens + end.
"""

import itertools

import numpy as np

from pipelines.special_ids import BEGIN, END


def assemble(store, examples, width, rows, encodings=(0, 0), columns=None):
    """Returns one batch. Sentences that exceed `width` are truncated, but keep their end id.

    Args:
        store: an `IdStore`.
        examples: indices of the pairs.
        width: number of positions per row.
        rows: number of rows. The rows after the examples are padding.
        encodings: indices of the source and target encodings, `[2]` or `[examples, 2]`.
        columns: a `BatchColumns`, whose arrays are added to the inputs, or None. The column
            "weights" is also the batch's third part, as Keras' sample weights.
    """
    padding = [(0, rows - len(examples)), (0, 0)]
    source_encodings, target_encodings = np.broadcast_to(encodings, (len(examples), 2)).T
    source = with_end(store.gather("source", examples, width, source_encodings))
    tokens = store.gather("target", examples, width, target_encodings)
    target = np.roll(tokens, 1, axis=1)
    target[:, 0] = BEGIN  # replaces the last column, which `roll` moved to the front
    source, target, labels = (np.pad(ids, padding) for ids in (source, target, with_end(tokens)))
    inputs = {"source": source, "target": target}
    if columns is None:
        return inputs, labels
    arrays = columns.of(examples, source, labels)
    return inputs | arrays, labels, *(arrays[name] for name in ("weights",) if name in arrays)


def with_end(ids):
    """Puts an end id after each row, in place of the last id of a row that has no padding."""
    ends = np.minimum(np.count_nonzero(ids, axis=1), ids.shape[1] - 1)
    ids[np.arange(len(ids)), ends] = END
    return ids


def batches(store, plan, start_step=0, steps=None, worker=0, workers=1, replicas=1, columns=None):
    """Yields NumPy batches from `start_step` on.

    Args:
        store: an `IdStore`.
        plan: a `BatchPlan` for `store.lengths + 1`.
        start_step: index of the first batch, counted from 0 across all epochs.
        steps: number of batches. If None, unlimited for a shuffled plan, and otherwise the rest of
            one epoch.
        worker, workers: index of this worker and number of workers. Each worker gets an equal
            share of consecutive rows of every batch.
        replicas: number of parts into which the worker's share is split. Each part is yielded as a
            separate batch.
        columns: see `assemble`.

    All shares have the same number of rows, so the last one may end with rows of padding.
    """
    if steps is None and plan.seed is None:
        steps = max(0, plan.steps - start_step)
    for step in itertools.islice(itertools.count(start_step), steps):
        examples, width, rows, encodings = plan.batch(step)
        share = -(-rows // (workers * replicas))
        for part in range(worker * replicas, (worker + 1) * replicas):
            own = slice(part * share, (part + 1) * share)
            yield assemble(store, examples[own], width, share, encodings[own], columns)
