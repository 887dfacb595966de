"""Training and held-out metrics for TensorBoard."""

import time

import keras
import tensorflow as tf

from t2t_keras.evaluation.held_out_metrics import by_set, without_sets


class Summaries(keras.callbacks.Callback):
    """Writes training metrics every `log_every` steps, and the metrics of each evaluation.

    When a run resumes from an earlier step, TensorBoard discards its metrics of later steps.

    Args:
        folder: the log folder, a `Path`. The logs go to its subfolders `training` and `held_out`.
            Each named held-out set has its own subfolder, so that TensorBoard draws the same metric
            of all sets in one chart.
        config: a `TrainingConfig`.
        names: the names of the held-out sets.
    """

    def __init__(self, folder, config, names=()):
        super().__init__()
        self.folder, self.config, self.names = folder, config, names

    def on_train_begin(self, logs=None):
        next_step = int(self.model.optimizer.iterations.numpy()) + 1
        folders = ("training", "held_out", *filter(None, self.names))
        self.writers = {name: writer_from(next_step, self.folder / name) for name in folders}

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.config.log_every:
            return
        with self.writers["training"].as_default(step=batch + 1):
            for name, value in logs.items():
                tf.summary.scalar(name, value)
            tf.summary.scalar("learning_rate", self.model.optimizer.learning_rate)

    def on_epoch_end(self, epoch, logs=None):
        for folder, metrics in ({"held_out": without_sets(logs)} | by_set(logs)).items():
            with self.writers[folder].as_default(step=int(logs["step"])):
                for name, value in metrics.items():
                    if isinstance(value, float) and name != "step":
                        tf.summary.scalar(name, value)
        # A checkpoint may follow. The metrics up to its step must survive if the process is killed.
        for writer in self.writers.values():
            writer.flush()

    def on_train_end(self, logs=None):
        for writer in self.writers.values():
            writer.close()


def writer_from(step, folder):
    """Returns a summary writer that replaces earlier summaries of this and later steps."""
    writer = tf.summary.create_file_writer(str(folder))
    log = tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START)
    # This event makes TensorBoard discard these steps, unless it is the first one in a folder.
    start = tf.compat.v1.Event(wall_time=time.time(), step=step, session_log=log)
    tf.raw_ops.ImportEvent(writer=writer._resource, event=start.SerializeToString())
    return writer
