"""Progress of long work: one updated line on a terminal, occasional plain lines elsewhere."""

import datetime
import sys
import time


class Progress:
    """A counter that displays its progress.

        with Progress("encoding", total, unit="pairs") as progress:
            progress.to(done)

    Args:
        task: name of the work.
        total: the final count, or None if it is unknown.
        unit: name of the things counted.
        stream: stream to write to. If None, standard error.
        every: seconds between plain lines.
    """

    def __init__(self, task, total=None, unit="", stream=None, every=10.0):
        self.task, self.total, self.unit = task, total, unit
        self.stream = sys.stderr if stream is None else stream
        self.terminal = self.stream.isatty()
        self.every = 0.1 if self.terminal else every
        self.started = self.shown_at = time.monotonic()
        self.first = None  # the count at which the clock was started
        self.done = 0
        self.width = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        self.show()
        if self.terminal:
            self.stream.write("\n")
        self.stream.flush()

    def to(self, done):
        """Sets the count, and displays it unless the last display was too recent."""
        if self.first is None:
            self.first, self.started = self.done, time.monotonic()
        self.done = done
        if time.monotonic() - self.shown_at >= self.every:
            self.show()

    def begin_at(self, done):
        """Sets the count to the amount of earlier work, which does not affect the rate."""
        self.first = self.done = done

    def show(self):
        """Displays the count, the rate, and the time elapsed and left."""
        self.shown_at = now = time.monotonic()
        seconds = max(now - self.started, 1e-9)
        rate = (self.done - (self.first or 0)) / seconds
        line = f"{self.task}: {self.done:,}"
        if self.total:
            line += f" of {self.total:,} {self.unit} ({self.done / self.total:.0%})"
        else:
            line += f" {self.unit}"
        line += f", {rate:,.0f}/s, {duration(seconds)}"
        if self.total and rate > 0 and self.done < self.total:
            line += f", {duration((self.total - self.done) / rate)} left"
        if self.terminal:
            self.stream.write("\r" + line.ljust(self.width))
            self.width = len(line)
        else:
            self.stream.write(line + "\n")
        self.stream.flush()


def duration(seconds):
    """Returns a `timedelta` of whole seconds, which prints as hours, minutes and seconds.

    >>> print(duration(3725))
    1:02:05
    """
    return datetime.timedelta(seconds=round(seconds))
