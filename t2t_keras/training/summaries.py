"""Training and held-out metrics for TensorBoard."""

import keras
import tensorflow as tf


class Summaries(keras.callbacks.Callback):
    """Writes training metrics every `log_every` steps, and the metrics of each evaluation.

    Args:
        folder: the log folder, a `Path`. The logs go to its subfolders `training` and `held_out`.
        config: a `TrainingConfig`.
    """

    def __init__(self, folder, config):
        super().__init__()
        self.folder, self.config = folder, config

    def on_train_begin(self, logs=None):
        self.training = tf.summary.create_file_writer(str(self.folder / "training"))
        self.held_out = tf.summary.create_file_writer(str(self.folder / "held_out"))

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.config.log_every:
            return
        with self.training.as_default(step=batch + 1):
            for name, value in logs.items():
                tf.summary.scalar(name, value)
            tf.summary.scalar("learning_rate", self.model.optimizer.learning_rate)

    def on_epoch_end(self, epoch, logs=None):
        with self.held_out.as_default(step=int(logs["step"])):
            for name, value in logs.items():
                if isinstance(value, float) and name != "step":
                    tf.summary.scalar(name, value)

    def on_train_end(self, logs=None):
        self.training.close()
        self.held_out.close()
