"""The access log: Apache's combined format and the seconds that a request took, without texts and
keys.

A thread writes the lines, so that a slow or full disk delays no request.
"""

import datetime
import os
import re
import stat
import sys
import threading
import time
from collections import deque

from absl import logging
from aiohttp.abc import AbstractAccessLogger

MOST_LINES = 20_000  # lines waiting to be written; beyond that, lines are dropped
CHECK_SECONDS = 1.0  # interval at which a renamed or removed file is noticed
LAST_SECONDS = 2.0  # time limit for writing the last lines when the server stops
LONGEST = 2000  # characters of a field


class AccessLog:
    """A file to which lines are appended, or standard output.

    A file that was renamed or removed, as by logrotate, is opened again.

    Args:
        path: path of the file; "-" is standard output.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path):
        self.path, self.is_file = path, path != "-"
        self.lines, self.dropped, self.is_failing = deque(), 0, False
        self.wake, self.reopen, self.ends = threading.Event(), False, False
        self.checked, self.is_torn = 0.0, False
        self.file = self.opened() if self.is_file else os.dup(sys.stdout.fileno())
        self.thread = threading.Thread(target=self.run, name="access_log", daemon=True)
        self.thread.start()

    def opened(self):
        if stat.S_ISFIFO(mode_of(self.path)):
            raise OSError(f"--access_log={self.path} must not be a pipe")
        return os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o640)

    def add(self, line):
        """Adds a line, which is written soon, or dropped if too many are waiting."""
        if len(self.lines) >= MOST_LINES:
            self.dropped += 1
        else:
            self.lines.append(line)
        self.wake.set()

    def open_again(self):
        """Opens the file again before the next line is written."""
        self.reopen = True
        self.wake.set()

    def close(self):
        """Writes the lines that are waiting, unless that takes too long."""
        self.ends = True
        self.wake.set()
        self.thread.join(LAST_SECONDS)

    def run(self):
        while not (self.ends and not self.lines):
            self.wake.wait()
            self.wake.clear()
            while self.lines:
                count = min(len(self.lines), 1000)
                text = "".join(self.lines.popleft() for _ in range(count))
                try:
                    self.write(text.encode("ascii", "replace"))
                    self.succeeded()
                except OSError as error:
                    self.failed(count, error)

    def write(self, text):
        if self.is_file:
            self.follow_rotation()
        if self.is_torn:  # a full disk may have cut off the last line
            text = b"\n" + text
        while text:
            written = os.write(self.file, text)
            self.is_torn = text[written - 1 : written] != b"\n"
            text = text[written:]

    def follow_rotation(self):
        """Opens the file again if its path no longer names the open file."""
        now = time.monotonic()
        if not self.reopen and now - self.checked < CHECK_SECONDS:
            return
        self.checked = now
        if not self.reopen:
            try:
                self.reopen = not os.path.samestat(os.stat(self.path), os.fstat(self.file))
            except FileNotFoundError:
                self.reopen = True
        if self.reopen:
            before, self.file = self.file, self.opened()  # fails while its folder is missing
            self.reopen = self.is_torn = False
            os.close(before)

    def succeeded(self):
        if self.is_failing or self.dropped:
            logging.warning("The access log is written again; it lacks %d lines", self.dropped)
            self.is_failing, self.dropped = False, 0

    def failed(self, count, error):
        self.dropped += count
        if not self.is_failing:
            logging.warning("The access log cannot be written, so it lacks lines: %s", error)
            self.is_failing = True


class AccessLogger(AbstractAccessLogger):
    """Adds a line for each answer to an `AccessLog`, the `logger` of this class."""

    def log(self, request, response, time):
        size = 0 if request.method == "HEAD" else response.content_length
        self.logger.add(line_of(request, response.status, size, time))


def line_of(request, status, size, seconds):
    """Returns the line for an answer. Queries are left out, because they contain texts and keys."""
    now = datetime.datetime.now().astimezone().strftime("%d/%b/%Y:%H:%M:%S %z")
    version = f"HTTP/{request.version.major}.{request.version.minor}"
    first = f"{request.method} {without_query(request.raw_path)} {version}"
    headers = request.headers
    referrer, agent = headers.get("Referer", "-"), headers.get("User-Agent", "-")
    sent = size or "-"
    return (
        f'{request.remote or "-"} - - [{now}] "{escaped(first)}" {status} {sent} '
        f'"{escaped(without_query(referrer))}" "{escaped(agent)}" {seconds:.3f}\n'
    )


def without_query(address):
    return re.split("[?#]", address, maxsplit=1)[0]


def escaped(text):
    r"""Escapes quotes, control characters and bytes that are not ASCII.

    >>> escaped('a"\n')
    'a\\"\\n'
    """
    # aiohttp's headers contain each byte that is not UTF-8 as a surrogate.
    data = text[:LONGEST].encode("utf-8", "surrogateescape")
    return data.decode("latin-1").encode("unicode_escape").decode("ascii").replace('"', '\\"')


def mode_of(path):
    """Returns the mode of the file at a path, 0 if there is none."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return 0
