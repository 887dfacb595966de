"""The batches of `assembly.py` as `tf.data`, for training and evaluation."""

import tensorflow as tf

from pipelines.batches.assembly import assemble, batches

PREFETCHED = 8  # batches of each replica that are made ahead of the training


def dataset(store, plan, start_step=0, steps=None, worker=0, workers=1, replicas=1, columns=None):
    """Returns `batches` as a `tf.data.Dataset` that prefetches. Its cardinality is known.

    In a single process, `strategy.experimental_distribute_dataset` can split the batches among the
    replicas. With several processes, TensorFlow would split each worker's rows again and treat each
    piece as a step. `TrainingData.distributed` is correct in both cases.
    """
    example = assemble(store, plan.examples[:1], width=2, rows=1, columns=columns)
    generated = tf.data.Dataset.from_generator(
        lambda: batches(store, plan, start_step, steps, worker, workers, replicas, columns),
        output_signature=tf.nest.map_structure(
            lambda array: tf.TensorSpec([None] * array.ndim, array.dtype), example
        ),
    )
    left = tf.data.INFINITE_CARDINALITY
    if steps is not None or plan.seed is None:
        left = (max(0, plan.steps - start_step) if steps is None else steps) * replicas
    generated = generated.apply(tf.data.experimental.assert_cardinality(left))
    options = tf.data.Options()
    # The rows are already this worker's share. TensorFlow must not divide them again.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # There is nothing to tune, and deleting an iterator waits for the tuner, which sleeps for up to
    # a minute: every training ended that much later.
    options.autotune.enabled = False
    return generated.prefetch(PREFETCHED * replicas).with_options(options)


class TrainingData:
    """An `IdStore`, its `BatchPlan` and perhaps `BatchColumns`, as the trainer expects data.

    Attributes:
        tokens: function of a step that returns the number of non-padding tokens in its batch.
        steps_per_epoch: number of batches in a pass over the data.
        corpora: {corpus: number of pairs}. Empty for a single corpus.
    """

    def __init__(self, store, plan, columns=None):
        self.store, self.plan, self.columns = store, plan, columns
        self.tokens, self.steps_per_epoch = plan.tokens, plan.steps
        self.corpora = self.counts(plan.examples)

    def distributed(self, strategy, start_step=0, steps=None):
        """Returns the batches from `start_step` on for a `tf.distribute` strategy.

        Each process assembles only the rows of its own replicas.
        """

        def of_worker(context):
            workers = context.num_input_pipelines
            share = context.input_pipeline_id, workers, strategy.num_replicas_in_sync // workers
            return dataset(self.store, self.plan, start_step, steps, *share, self.columns)

        return strategy.distribute_datasets_from_function(of_worker)

    def seen(self, step):
        """Returns {corpus: number of pairs in a batch}. Empty for a single corpus."""
        return self.counts(self.examples(step))

    def counts(self, examples):
        return {} if self.plan.mix is None else self.plan.mix.counts(examples)

    def examples(self, step):
        """Returns the indices of the sentence pairs in a batch."""
        return self.plan.batch(step)[0]
