"""The devices and machines of a training job.

Every machine runs the same command with its own TF_CONFIG. The machines exchange gradients in every
update, so they must all start from the same step and stop after the same step.
"""

import contextlib
import json
import math
import os

import tensorflow as tf

from t2t_keras.checks import check
from t2t_keras.training.hardware.devices import prepare_devices


class LostMachine(OSError):
    """Another machine of the job has ended or cannot be reached."""


# Errors that TensorFlow raises when an exchange with another machine fails.
EXCHANGE_ERRORS = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
)
AGREE_EVERY = 10  # steps between two agreements of several machines on whether to stop


def find_strategy(tpu=None, communication="auto"):
    """Returns the strategy for a named TPU, the machines of TF_CONFIG, several GPUs or one device.

    `tpu` is the name or address of a Cloud TPU, or "local" on the TPU's own machine.
    """
    prepare_devices()
    if tpu is not None:
        check(communication == "auto", "communication", communication, "'auto' with a TPU")
        resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu)
        tf.config.experimental_connect_to_cluster(resolver)
        tf.tpu.experimental.initialize_tpu_system(resolver)
        return tf.distribute.TPUStrategy(resolver)
    cluster = os.environ.get("TF_CONFIG", "").strip()
    if cluster not in ("", "{}"):
        check_cluster(cluster)
        gpus = tf.config.list_physical_devices("GPU")
        allowed = "'auto' or 'ring' on machines without GPUs"
        check(gpus or communication != "nccl", "communication", communication, allowed)
        experimental = tf.distribute.experimental
        chosen = experimental.CommunicationImplementation[communication.upper()]
        options = experimental.CommunicationOptions(implementation=chosen)
        return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
    if len(tf.config.list_physical_devices("GPU")) > 1:
        return mirrored_strategy(communication)
    return tf.distribute.get_strategy()


def mirrored_strategy(communication="auto", devices=None):
    """Returns the strategy for the devices of one machine. None: all GPUs, or else the CPU.

    TensorFlow uses NCCL for them. It offers no ring, so without NCCL one device adds the gradients.
    """
    ring = tf.distribute.ReductionToOneDevice() if communication == "ring" else None
    return tf.distribute.MirroredStrategy(devices, cross_device_ops=ring)


def check_cluster(text):
    """Raises `ValueError` unless TF_CONFIG lists the machines and identifies this one."""
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
    """The machines of a `tf.distribute` strategy."""

    def __init__(self, strategy):
        self.strategy = strategy
        # The chief is the machine that writes files. One machine drives all of a TPU.
        self.is_chief, self.count = True, 1
        if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            resolver = strategy.cluster_resolver
            cluster = resolver.cluster_spec().as_dict()
            chief_type = "chief" if "chief" in cluster else "worker"
            self.is_chief = (resolver.task_type, resolver.task_id) == (chief_type, 0)
            self.count = sum(len(cluster.get(kind, ())) for kind in ("chief", "worker"))

        @tf.function
        def gather(value):
            def on_replica(value):
                return tf.distribute.get_replica_context().all_gather(value[None], axis=0)

            return strategy.run(on_replica, args=(value,))

        self.gather = gather

    def on_every_replica(self, step, batch_spec):
        """Returns the step as one graph. It returns the logs of one replica; all are the same."""

        # One graph for all batch shapes: with a graph for each shape, the rounding would depend on
        # which shape came first. XLA compiles each shape inside this graph.
        @tf.function(autograph=False, input_signature=[batch_spec])
        def distributed_step(batch):
            return self.strategy.run(step, args=(batch,))

        def first_logs(batch):
            logs = distributed_step(batch)
            local = self.strategy.experimental_local_results
            return {name: local(value)[0] for name, value in logs.items()}

        return first_logs

    @contextlib.contextmanager
    def watched(self):
        """Raises `LostMachine` when an exchange with another machine fails in the block."""
        try:
            yield
        except EXCHANGE_ERRORS as error:
            if self.count == 1:
                raise
            reason = str(error).strip().splitlines()[0]
            raise LostMachine(
                f"another machine of this job ended or cannot be reached ({reason}). Run the same "
                "command on all machines to resume from the newest checkpoint"
            ) from error

    def any_asked(self, asked, step, at_once):
        """Returns whether any machine was asked to stop, after a step that all have taken.

        On several machines, the answer is False between two exchanges, which wait for the step.
        `at_once`, the same on all machines, makes an exchange due.
        """
        if self.count > 1 and not at_once and step % AGREE_EVERY:
            return False
        return max(self.all_values(int(asked))) > 0

    def all_values(self, value, dtype=tf.int64):
        """Waits until all machines have called this. Returns the set of their numbers."""
        if self.count == 1:
            return {value}
        gathered = self.gather(tf.constant(value, dtype))
        return set(self.strategy.experimental_local_results(gathered)[0].numpy().tolist())

    def of_chief(self, value):
        """Waits until all machines have called this. Returns the value of the chief, a float."""
        return max(self.all_values(value if self.is_chief else -math.inf, tf.float64))
