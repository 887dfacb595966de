"""What is shown and written while a model is trained, as ordinary Keras callbacks."""

import datetime
import sys
import time

import keras
import tensorflow as tf


class Lines(keras.callbacks.Callback):
    """One plain line every so many steps: loss, perplexity, learning rate, speed, time left.

    Args:
        config: the `TrainingConfig`.
        tokens: a function that tells how many real tokens were seen so far.
        step: a function that tells how many steps were done.
        stream: where to write. None: standard error.
    """

    def __init__(self, config, tokens, step, stream=None):
        super().__init__()
        self.config, self.tokens, self.step = config, tokens, step
        self.stream = stream

    def on_train_begin(self, logs=None):
        self.last = time.monotonic(), self.step(), self.tokens()

    def on_train_batch_end(self, batch, logs=None):
        step = batch + 1
        if step % self.config.log_every and step != self.config.steps:
            return
        loss, perplexity = float(logs["loss"]), float(logs["perplexity"])
        now = time.monotonic()
        then, last_step, last_tokens = self.last
        seconds, steps = max(now - then, 1e-9), step - last_step
        left = seconds / max(steps, 1) * (self.config.steps - step)
        left = datetime.timedelta(seconds=round(left))
        print(
            f"step {step:,}/{self.config.steps:,}  loss {loss:.4f}  perplexity {perplexity:.2f}  "
            f"learning rate {float(self.model.optimizer.learning_rate):.3e}  "
            f"{(self.tokens() - last_tokens) / seconds:,.0f} tokens/s  {left} left",
            file=self.stream or sys.stderr,
            flush=True,
        )
        self.last = now, step, self.tokens()

    def on_epoch_begin(self, epoch, logs=None):
        # The time that an evaluation took is not the training's.
        self.last = time.monotonic(), self.step(), self.tokens()

    def on_epoch_end(self, epoch, logs=None):
        shown = ("loss", "perplexity", "token_accuracy", "bleu")
        found = [f"{name.replace('_', ' ')} {logs[name]:.4g}" for name in shown if name in logs]
        if found:
            print(f"held out:  {'  '.join(found)}", file=self.stream or sys.stderr, flush=True)


class Summaries(keras.callbacks.Callback):
    """The same figures for TensorBoard.

    Args:
        folder: of the logs.
        config: the `TrainingConfig`.
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
