"""Batches for training and evaluation, from an id store and a plan.

    store = IdStore.read("data/train")
    plan = BatchPlan(store.lengths + 1, BatchConfig(tokens=25000), seed=1)
    model.fit(dataset(store, plan), steps_per_epoch=plan.steps)

A batch is `({"source", "target"}, labels)`, int32, padded with 0 to one of the plan's widths:
source = tokens + end, target = begin + tokens, labels = tokens + end.
"""

import itertools

import numpy as np
import tensorflow as tf

from pipelines.id_store import IdStore, Shard
from pipelines.tokenizers import BEGIN, END


def encoded(pairs, tokenizer):
    """An id store in memory, for a corpus that is small.

    Args:
        pairs: (source, target), strings or bytes.
        tokenizer: of `tokenizers.py`.
    """
    sides = zip(*pairs, strict=True)
    return IdStore([Shard.of(zip(*(tokenizer.encode(side) for side in sides), strict=True))])


def assemble(store, examples, width, rows):
    """One batch of `rows` rows; those beyond the examples are padding.

    A sentence that does not fit is cut: the plan has put it there to be truncated.
    """
    examples = np.asarray(examples)
    everyone = np.arange(len(examples))
    lengths = np.minimum(store.lengths[examples], width - 1)
    source = store.gather("source", examples, width)
    labels = store.gather("target", examples, width)
    target = np.roll(labels, 1, axis=1)  # what comes round from the end is padding
    target[:, 0] = BEGIN
    source[everyone, lengths[:, 0]] = END
    labels[everyone, lengths[:, 1]] = END
    empty = [(0, rows - len(examples)), (0, 0)]
    source, target, labels = (np.pad(ids, empty) for ids in (source, target, labels))
    return {"source": source, "target": target}, labels


def batches(store, plan, start_step=0, steps=None, worker=0, workers=1):
    """Yields NumPy batches from `start_step` on, as if the earlier ones had been taken.

    Args:
        store: an `IdStore`.
        plan: a `BatchPlan` made from `store.lengths + 1`.
        start_step: number of the first batch, counted from 0 through all epochs.
        steps: how many batches. None: without end if the plan is shuffled, else one epoch.
        worker, workers: of each batch, this worker takes its share of consecutive rows. The
            shares are equally large, so that the last may end in rows of padding.
    """
    if not 0 <= worker < workers:
        raise ValueError(f"`worker` must be from 0 to {workers - 1}. Received: worker={worker}")
    if start_step < 0:
        raise ValueError(f"`start_step` must be at least 0. Received: start_step={start_step}")
    if steps is None and plan.seed is None:
        steps = plan.steps - start_step
    numbers = itertools.count(start_step)
    for step in numbers if steps is None else itertools.islice(numbers, steps):
        examples, width, rows = plan.batch(step)
        share = -(-rows // workers)
        yield assemble(store, examples[worker * share : (worker + 1) * share], width, share)


def dataset(store, plan, start_step=0, steps=None, worker=0, workers=1):
    """`batches` as a `tf.data.Dataset`, made ahead of their use."""
    ids = tf.TensorSpec([None, None], tf.int32)
    made = tf.data.Dataset.from_generator(
        lambda: batches(store, plan, start_step, steps, worker, workers),
        output_signature=({"source": ids, "target": ids}, ids),
    )
    options = tf.data.Options()
    # A worker's rows are its own already; TensorFlow must not divide them again.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return made.prefetch(tf.data.AUTOTUNE).with_options(options)
