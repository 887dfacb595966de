"""Progress of long work: one updated line on a terminal, occasional plain lines elsewhere."""

import datetime
import shutil
import sys
import time

MOST = 300.0  # maximum seconds between plain lines


class Progress:
    """A counter that displays its progress.

        with Progress("encoding", total, unit="pairs") as progress:
            progress.to(done)

    Args:
        task: name of the work.
        total: the final count, or None if it is unknown.
        unit: plural of the things counted, such as "lines".
        stream: stream to write to. If None, standard error.
        every: seconds between plain lines. Later lines are further apart: after an hour, 3 minutes.
    """

    def __init__(self, task, total=None, unit="", stream=None, every=10.0):
        self.task, self.total, self.unit = task, total, unit
        self.stream = sys.stderr if stream is None else stream
        self.terminal = self.stream.isatty()
        self.every = 0.1 if self.terminal else every
        self.started = self.shown_at = time.monotonic()
        self.first = None  # the count at which the clock was started
        self.done, self.last_shown, self.width = 0, None, 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if self.terminal or self.done != self.last_shown:
            self.show()
        self.stream.write("\n" * self.terminal)
        self.stream.flush()

    def to(self, done):
        """Sets the count, and displays it unless the last display was too recent."""
        if begins := self.first is None:
            self.begin_at(self.done)
        self.done, now, pause = done, time.monotonic(), self.every
        if not self.terminal:
            pause = max(pause, min((now - self.started) / 20, MOST))
        if (begins and self.terminal) or now - self.shown_at >= pause:
            self.show()

    def begin_at(self, done):
        """Sets the count to the amount of earlier work, which does not affect the rate."""
        self.first = self.done = done
        self.started = time.monotonic()

    def show(self):
        """Displays the count, the rate, and the time elapsed and left."""
        self.shown_at, self.last_shown = time.monotonic(), self.done
        line = self.line(max(self.shown_at - self.started, 1e-9))
        if not self.terminal:
            self.stream.write(line + "\n")
        else:
            # A line that is wider than the terminal could not be overwritten.
            line = line[: max(shutil.get_terminal_size().columns - 1, 1)]
            self.stream.write("\r" + line.ljust(self.width))
            self.width = len(line)
        self.stream.flush()

    def line(self, seconds):
        """Returns the text to display, `seconds` after the clock was started."""
        rate = (self.done - (self.first or 0)) / seconds
        # An input that grows meanwhile has no total.
        total = self.total if self.total and self.done <= self.total else None
        unit = self.unit.removesuffix("s") if (total or self.done) == 1 else self.unit
        of_total = f" of {total:,}" if total else ""
        share = f" ({100 * self.done // total}%)" if total else ""
        line = f"{self.task}: {self.done:,}{of_total} {unit}{share}"
        line += f", {rate:,.{0 if rate >= 10 or not rate else 1}f}/s, {duration(seconds)}"
        if total and rate > 0 and self.done < total:
            line += f", {duration((total - self.done) / rate)} left"
        return line

    def clear(self):
        """Removes the line from a terminal, before output to the same one."""
        if self.terminal and self.width:
            self.stream.write("\r" + " " * self.width + "\r")
            self.stream.flush()
            self.width = 0


def duration(seconds):
    """Returns a `timedelta` of whole seconds, which prints as hours, minutes and seconds.

    >>> print(duration(3725))
    1:02:05
    """
    return datetime.timedelta(seconds=round(seconds))
