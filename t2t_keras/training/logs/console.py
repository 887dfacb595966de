"""Everything that training prints: progress, evaluations, example translations, notices.

On a terminal, progress is a single line that is redrawn. A log file gets a line every `log_every`
steps, and at least every 30 seconds.
"""

import datetime
import io
import math
import os
import shlex
import shutil
import sys
import time

import keras
from absl import logging

from pipelines.printable import printable
from t2t_keras.evaluation.held_out_metrics import by_set
from t2t_keras.schedules import rate_of_last_update

REDRAW_SECONDS = 0.2  # seconds between two updates of the progress line
SILENT_SECONDS = 30.0  # maximum number of seconds between two lines of a log file
BAR_WIDTH = 5, 30  # minimum and maximum width of the progress bar, in columns
CODES = {"quiet": "2", "title": "1", "good": "1;32"}  # parameters of the escape sequence
# {name of a held-out metric: its title}
SHOWN_METRICS = {
    "loss": "loss",
    "perplexity": "perplexity",
    "token_accuracy": "token accuracy",
    "bleu": "BLEU",
}


class Console(keras.callbacks.Callback):
    """Prints the reports of a trainer to a stream.

    Args:
        config: a `TrainingConfig`.
        progress: a function that returns the steps done, the tokens seen and the passes over the
            data so far; None if their length is unknown.
        is_chief: whether this machine prints progress and evaluations. All machines print notices.
        stream: where to write. None: standard error.
        logs: the log folder for TensorBoard, or None.
    """

    def __init__(self, config, progress, is_chief=True, stream=None, logs=None):
        super().__init__()
        self.config, self.progress, self.is_chief = config, progress, is_chief
        self.stream = sys.stderr if stream is None else stream
        self.logs = logs
        self.on_terminal = self.stream.isatty()
        self.has_colors = has_colors(self.stream)
        self.line_is_open = False  # whether the progress line still lacks a newline
        self.is_evaluating = False  # whether the progress line is about an evaluation
        self.compiled_shapes = set()
        self.drawn_at = 0.0

    def on_train_begin(self, logs=None):
        if self.is_chief and self.logs:
            command = shlex.join(["tensorboard", f"--logdir={self.logs}"])
            self.print(f"Learning curves: {command}, then open http://localhost:6006")
        self.printed_at = time.monotonic()
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
        elif is_due or self.is_silent():
            rate = f"learning rate {rate_of_last_update(self.model.optimizer):.3e}"
            *means, speed, left = self.figures(logs)
            self.print_timed("  ".join([f"step {self.steps()}", *means, rate, speed, left]))
            is_due = True
        if is_due:
            self.start_timing()

    def is_silent(self):
        """Returns whether the last line of a log file is too long ago."""
        return time.monotonic() - self.printed_at >= SILENT_SECONDS

    def translating(self, name, done, total):
        """Shows the progress of translating a held-out set."""
        self.draw_evaluation(f"translating held-out text{in_brackets(name)}: {done:,}/{total:,}")

    def measuring_loss(self, name, batches):
        """Shows the progress of computing the loss of a held-out set."""
        self.draw_evaluation(f"computing the held-out loss{in_brackets(name)}: batch {batches:,}")

    def draw_evaluation(self, text):
        if not self.is_chief:
            return
        if self.on_terminal:
            if not self.is_evaluating:
                self.close()  # the bar stays above
                self.is_evaluating = True
            if time.monotonic() - self.drawn_at >= REDRAW_SECONDS:
                self.redraw(text)
        elif self.is_silent():
            self.print_timed(text)

    def show_evaluation(self, results, best=None):
        """Prints a line for each held-out set. `best` names a metric with a new best value."""
        self.close()
        sets = {f"held out ({name}):": (name, each) for name, each in by_set(results).items()}
        sets = sets or {"held out:": ("", results)}
        width = max(map(len, sets))
        best_set, _, best_metric = (best or "").rpartition("/")
        for title, (name, metrics) in sets.items():
            shown = [each for each in SHOWN_METRICS if each in metrics]
            if not shown:
                continue
            columns = [f"{SHOWN_METRICS[each]} {metrics[each]:.4g}" for each in shown]
            if best and name == best_set:
                columns.append(self.paint("good", f"new best {SHOWN_METRICS[best_metric]}"))
            padding = " " * (width - len(title))
            self.print_timed("  ".join([self.paint("title", title) + padding, *columns]))

    def on_train_end(self, logs=None):
        self.close()

    def start_timing(self):
        """Starts the interval from which speed and time left are computed."""
        self.timed_from = time.monotonic(), *self.progress()

    def steps(self):
        """Returns the steps done and their total, for example "1,200/7,000"."""
        return f"{self.progress()[0]:,}/{self.config.steps:,}"

    def figures(self, logs):
        """Returns epoch and perplexity (if known), loss, speed and time left as text."""
        start, first_step, first_tokens, _ = self.timed_from
        step, tokens, epoch = self.progress()
        seconds = max(time.monotonic() - start, 1e-9)
        left = seconds / max(step - first_step, 1) * (self.config.steps - step)
        perplexity = float(logs.get("perplexity", math.nan))
        return (
            *([] if epoch is None else [f"epoch {epoch:.2f}"]),
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
        self.redraw(f"{steps}{bar}  {figures}")

    def redraw(self, line):
        """Replaces the progress line."""
        columns = shutil.get_terminal_size().columns - 1
        self.stream.write(f"\r{line[:columns]}\x1b[K")  # ESC [K clears the rest of the line
        self.stream.flush()
        self.line_is_open, self.drawn_at = True, time.monotonic()

    def close(self):
        """Ends the progress line, so that other text starts on a new line."""
        if self.line_is_open and self.is_evaluating:
            self.stream.write("\r\x1b[K")  # the evaluation follows
            self.line_is_open = False
        elif self.line_is_open:
            self.print("")
        self.is_evaluating = False

    def paint(self, kind, text):
        """Returns the text with the escape sequences of a kind in `CODES`, if colors are on."""
        return f"\x1b[{CODES[kind]}m{text}\x1b[0m" if self.has_colors and text else text

    def print_timed(self, text):
        """Prints a line that begins with the time."""
        self.print(f"{self.paint('quiet', time_stamp())}  {text}")

    def print(self, text):
        self.line_is_open, self.printed_at = False, time.monotonic()
        print(text, file=self.stream, flush=True)

    def show_examples(self, examples):
        """Prints some translations of each held-out set; see `example_lines`."""
        for name, shown in examples.items():
            if name and shown:
                self.print(f"translations ({name}):")
            for line in example_lines(shown, self.paint):
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


def time_stamp():
    """Returns the local time, for example "2026-11-26 07:48:33"."""
    return f"{datetime.datetime.now():%Y-%m-%d %H:%M:%S}"


def in_brackets(name):
    """Returns the name of a held-out set after a space, or "" if it has none."""
    return f" ({name})" if name else ""


def example_lines(examples, paint=lambda kind, text: text):
    """Returns three lines for each example: source, reference and output.

    Args:
        examples: a list of `evaluation.held_out.Example`.
        paint: see `Console.paint`.
    """
    return [
        f"  {paint('quiet', f'{name:<9}')}  {printable(getattr(example, name))}"
        for example in examples
        for name in ("source", "reference", "output")
    ]


def has_colors(stream):
    """Returns whether text for a stream is colored: on terminals, unless the user decides.

    NO_COLOR (https://no-color.org) turns colors off. FORCE_COLOR (https://force-color.org) turns
    them on where the output is not a terminal. If both are set, NO_COLOR wins.
    """
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR", "0") not in ("", "0")
    return forced or (stream.isatty() and os.environ.get("TERM") != "dumb")
