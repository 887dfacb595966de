"""Everything that training prints: progress, evaluations, example translations, notices.

On a terminal, progress is a single line that is redrawn. A log file gets a line every `log_every`
steps.
"""

import datetime
import io
import math
import os
import shutil
import sys
import time

import keras
from absl import logging

from t2t_keras.evaluation.held_out_metrics import by_set

REDRAW_SECONDS = 0.2  # seconds between two updates of the progress line
BAR_WIDTH = 5, 30  # minimum and maximum width of the progress bar, in columns
SHOWN_METRICS = ("loss", "perplexity", "token_accuracy", "bleu")


class Console(keras.callbacks.Callback):
    """Prints the reports of a trainer to a stream.

    Args:
        config: a `TrainingConfig`.
        progress: a function that returns the steps done and the tokens seen so far.
        is_chief: whether this machine prints progress and evaluations. All machines print notices.
        stream: where to write. None: standard error.
    """

    def __init__(self, config, progress, is_chief=True, stream=None):
        super().__init__()
        self.config, self.progress, self.is_chief = config, progress, is_chief
        self.stream = sys.stderr if stream is None else stream
        self.on_terminal = self.stream.isatty()
        self.line_is_open = False  # whether the progress line still lacks a newline
        self.compiled_shapes = set()
        self.drawn_at = 0.0

    def on_train_begin(self, logs=None):
        self.start_timing()

    def on_epoch_begin(self, epoch, logs=None):
        self.start_timing()  # the time of the last evaluation is excluded

    def on_train_batch_end(self, batch, logs=None):
        if not self.is_chief:
            return
        step = batch + 1
        is_due = step % self.config.log_every == 0 or step == self.config.steps
        if self.on_terminal:
            if is_due or time.monotonic() - self.drawn_at >= REDRAW_SECONDS:
                self.draw(logs)
        elif is_due:
            rate = f"learning rate {float(self.model.optimizer.learning_rate):.3e}"
            *metrics, speed, left = self.figures(logs)
            self.print("  ".join([f"step {self.steps()}", *metrics, rate, speed, left]))
        if is_due:
            self.start_timing()

    def on_epoch_end(self, epoch, logs=None):
        if not self.is_chief:
            return
        self.close()
        sets = {f"held out ({name}):": metrics for name, metrics in by_set(logs).items()}
        sets = sets or {"held out:": logs}
        width = max(map(len, sets))
        for title, metrics in sets.items():
            names = [name for name in SHOWN_METRICS if name in metrics]
            if names:
                values = (f"{name.replace('_', ' ')} {metrics[name]:.4g}" for name in names)
                self.print(f"{title:<{width}}  {'  '.join(values)}")

    def on_train_end(self, logs=None):
        self.close()

    def start_timing(self):
        """Starts the interval from which speed and time left are computed."""
        self.timed_from = time.monotonic(), *self.progress()

    def steps(self):
        """Returns the steps done and their total, for example "1,200/7,000"."""
        return f"{self.progress()[0]:,}/{self.config.steps:,}"

    def figures(self, logs):
        """Returns loss, perplexity (if known), speed and time left as text."""
        start, first_step, first_tokens = self.timed_from
        step, tokens = self.progress()
        seconds = max(time.monotonic() - start, 1e-9)
        left = seconds / max(step - first_step, 1) * (self.config.steps - step)
        perplexity = float(logs.get("perplexity", math.nan))
        return (
            f"loss {float(logs['loss']):.4f}",
            *([] if math.isnan(perplexity) else [f"perplexity {perplexity:.2f}"]),
            f"{(tokens - first_tokens) / seconds:,.0f} tokens/s",
            f"{datetime.timedelta(seconds=round(left))} left",
        )

    def draw(self, logs):
        """Redraws the progress line. The bar fills the columns that the figures leave free."""
        columns = shutil.get_terminal_size().columns - 1
        steps, figures = self.steps(), "  ".join(self.figures(logs))
        narrowest, widest = BAR_WIDTH
        width = min(widest, columns - len(f"{steps}  []  {figures}"))
        bar = ""
        if width >= narrowest:
            done = "=" * (width * self.progress()[0] // self.config.steps)
            bar = f"  [{done:<{width}}]"
        line = f"{steps}{bar}  {figures}"
        self.stream.write(f"\r{line[:columns]}\x1b[K")  # ESC [K clears the rest of the line
        self.stream.flush()
        self.line_is_open, self.drawn_at = True, time.monotonic()

    def close(self):
        """Ends the progress line, so that other text starts on a new line."""
        if self.line_is_open:
            self.print("")

    def print(self, text):
        self.line_is_open = False
        print(text, file=self.stream, flush=True)

    def show_examples(self, examples):
        """Prints some translations of each held-out set.

        Args:
            examples: {name of a set: its examples}; see `example_lines`.
        """
        for name, shown in examples.items():
            if name and shown:
                self.print(f"translations ({name}):")
            for line in example_lines(shown):
                self.print(line)

    def stopping(self):
        """Announces that the step in progress is the last one.

        A signal handler calls this, perhaps in the middle of a write to the stream. So the text
        bypasses the stream's buffer, which does not allow a second write at that moment.
        """
        self.line_is_open = False
        text = "\nStopping after this step and saving. Interrupt again to exit at once.\n"
        try:
            os.write(self.stream.fileno(), text.encode())
        except io.UnsupportedOperation:  # a stream in memory
            self.stream.write(text)

    def resuming(self, step):
        """Announces the checkpoint that training continues from."""
        logging.info("Resuming from step %d", step)

    def compiling(self, shape):
        """Announces that XLA compiles the step, once for each batch shape."""
        if shape not in self.compiled_shapes:
            self.compiled_shapes.add(shape)
            self.close()
            rows, columns = shape
            logging.info(
                "Compiling the step with XLA for batches of %d x %d (shape %d)",
                *(rows, columns, len(self.compiled_shapes)),
            )

    def warn(self, message):
        self.close()
        logging.warning(message)


def example_lines(examples):
    """Returns three lines for each example: source, reference and output.

    Args:
        examples: a list of `evaluation.held_out.Example`.
    """
    return [
        f"  {name:<9}  {getattr(example, name)}"
        for example in examples
        for name in ("source", "reference", "output")
    ]
