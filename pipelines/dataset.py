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
    sides = [tokenizer.encode(side) for side in zip(*pairs, strict=True)]
    return IdStore([Shard.of(zip(*sides, strict=True))])


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


def batches(store, plan, start_step=0, steps=None, worker=0, workers=1, replicas=1):
    """Yields NumPy batches from `start_step` on, as if the earlier ones had been taken.

    Args:
        store: an `IdStore`.
        plan: a `BatchPlan` made from `store.lengths + 1`.
        start_step: number of the first batch, counted from 0 through all epochs.
        steps: how many batches. None: without end if the plan is shuffled, else one epoch.
        worker, workers: of each batch, this worker takes its share of consecutive rows.
        replicas: the worker's share is cut again, and the parts are yielded one after another.

    All shares are equally large, so that the last may end in rows of padding.
    """
    check_plan(store, plan, start_step)
    if not 0 <= worker < workers:
        raise ValueError(f"`worker` must be from 0 to {workers - 1}. Received: worker={worker}")
    if steps is None and plan.seed is None:
        steps = max(0, plan.steps - start_step)
    numbers = itertools.count(start_step)
    for step in numbers if steps is None else itertools.islice(numbers, steps):
        examples, width, rows = plan.batch(step)
        share = -(-rows // (workers * replicas))
        for part in range(worker * replicas, (worker + 1) * replicas):
            yield assemble(store, examples[part * share : (part + 1) * share], width, share)


def check_plan(store, plan, start_step):
    lengths = store.lengths + 1
    if not np.array_equal(np.minimum(lengths, plan.cut_at or lengths), plan.lengths):
        raise ValueError(
            "The plan is not this store's: make it from `store.lengths + 1`. Received: a plan of "
            f"{len(plan.lengths)} examples, a store of {len(store)}"
        )
    if start_step < 0:
        raise ValueError(f"`start_step` must be at least 0. Received: start_step={start_step}")


def dataset(store, plan, start_step=0, steps=None, worker=0, workers=1, replicas=1):
    """`batches` as a `tf.data.Dataset`, made ahead of their use.

    For several replicas in one process, `strategy.experimental_distribute_dataset` may cut its
    batches. Across processes TensorFlow would cut a worker's rows again and take each piece
    for a step: use `distributed`, which is right everywhere.
    """
    ids = tf.TensorSpec([None, None], tf.int32)
    made = tf.data.Dataset.from_generator(
        lambda: batches(store, plan, start_step, steps, worker, workers, replicas),
        output_signature=({"source": ids, "target": ids}, ids),
    )
    options = tf.data.Options()
    # A worker's rows are its own already; TensorFlow must not divide them again.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return made.prefetch(tf.data.AUTOTUNE).with_options(options)


def distributed(strategy, store, plan, start_step=0, steps=None):
    """The batches for a `tf.distribute` strategy: each process makes its replicas' rows."""

    def of_worker(context):
        return dataset(
            store,
            plan,
            start_step,
            steps,
            worker=context.input_pipeline_id,
            workers=context.num_input_pipelines,
            replicas=strategy.num_replicas_in_sync // context.num_input_pipelines,
        )

    return strategy.distribute_datasets_from_function(of_worker)


class TrainingData:
    """A store and a plan, as the trainer wants them."""

    def __init__(self, store, plan):
        self.store, self.plan = store, plan

    def distributed(self, strategy, start_step=0):
        return distributed(strategy, self.store, self.plan, start_step)

    def tokens(self, step):
        """Real tokens of a batch, both sides."""
        return int(self.plan.lengths[self.examples(step)].sum())

    def examples(self, step):
        """The numbers of the sentence pairs of a batch."""
        return self.plan.batch(step)[0]
