"""The machines and devices of one job: how they are found, and how they agree.

Several machines run the same command, each with its own TF_CONFIG. They meet in every update; so
whatever ends a run, or starts it, has to be known to all of them at the same step.
"""

import contextlib
import os

import tensorflow as tf


class LostMachine(OSError):
    """Another machine of the job is gone."""


# What TensorFlow raises when an exchange with another machine fails.
LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
)


def find_strategy(tpu=None):
    """A TPU if one is named, the machines of TF_CONFIG, several GPUs, or whatever there is.

    Args:
        tpu: name or address of a Cloud TPU, "local" on its own machine. None: no TPU.
    """
    if tpu is not None:
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    if "TF_CONFIG" in os.environ:
        return tf.distribute.MultiWorkerMirroredStrategy()
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


class Machines:
    """The machines that a strategy spans.

    Args:
        strategy: a `tf.distribute` strategy.
    """

    def __init__(self, strategy):
        self.strategy = strategy
        cluster = strategy.cluster_resolver
        self.number = (cluster.task_id if cluster else None) or 0
        # A TPU's cluster is one machine that drives others.
        self.count = len(cluster.cluster_spec().as_dict().get("worker", [0])) if cluster else 1
        if isinstance(strategy, tf.distribute.TPUStrategy):
            self.number, self.count = 0, 1

        @tf.function
        def gather(value):
            def of_replica(value):
                return tf.distribute.get_replica_context().all_gather(value[None], axis=0)

            return strategy.run(of_replica, args=(value,))

        self.gather = gather

    @property
    def is_chief(self):
        """Whether this machine is the one that writes."""
        return self.number == 0

    @contextlib.contextmanager
    def chief_first(self):
        """The chief does what is in this block, then all others do."""
        if not self.is_chief:
            self.everyones(0)
        yield
        if self.is_chief:
            self.everyones(0)

    @contextlib.contextmanager
    def watched(self):
        """Says that a machine is gone where TensorFlow says that an exchange failed."""
        try:
            yield
        except LOST as error:
            if self.count == 1:
                raise
            reason = str(error).strip().splitlines()[0]
            raise LostMachine(
                f"another machine of this job ended or cannot be reached ({reason}). Start the "
                "same command on all of them again: it goes on from the newest checkpoint"
            ) from error

    def everyones(self, value):
        """The whole numbers that all machines give here; each waits for all the others."""
        if self.count == 1:
            return {value}
        gathered = self.gather(tf.constant(value, tf.int64))
        return set(self.strategy.experimental_local_results(gathered)[0].numpy().tolist())
