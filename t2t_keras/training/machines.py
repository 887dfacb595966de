"""The machines and devices of one job: how they are found, and how they agree.

Several machines run the same command, each with its own TF_CONFIG. They meet in every update; so
whatever ends a run, or starts it, has to be known to all of them at the same step.
"""

import contextlib
import json
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
    cluster = os.environ.get("TF_CONFIG", "").strip()
    if cluster not in ("", "{}"):
        check_cluster(cluster)
        return tf.distribute.MultiWorkerMirroredStrategy()
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return tf.distribute.MirroredStrategy()
    return tf.distribute.get_strategy()


def check_cluster(text):
    """Refuses a TF_CONFIG that does not say which machines there are and which one this is."""
    try:
        config = json.loads(text)
        task, cluster = config["task"], config["cluster"]
        cluster[task["type"]][int(task["index"])]
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(
            'TF_CONFIG must be like {"cluster": {"worker": ["host:port", …]}, "task": {"type": '
            f'"worker", "index": 0}}}}, with the same cluster on all machines. Received: {text}'
        ) from error


class Machines:
    """The machines that a strategy spans.

    Args:
        strategy: a `tf.distribute` strategy.
    """

    def __init__(self, strategy):
        self.strategy = strategy
        # Whether this machine is the one that writes. (A TPU's machines are driven by one.)
        self.is_chief, self.count = True, 1
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            resolver = strategy.cluster_resolver
            cluster = resolver.cluster_spec().as_dict()
            first = "chief" if "chief" in cluster else "worker"
            self.is_chief = (resolver.task_type, resolver.task_id) == (first, 0)
            self.count = sum(len(cluster.get(kind, ())) for kind in ("chief", "worker"))

        @tf.function
        def gather(value):
            def of_replica(value):
                return tf.distribute.get_replica_context().all_gather(value[None], axis=0)

            return strategy.run(of_replica, args=(value,))

        self.gather = gather

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
