"""The access log: Apache's combined format and the seconds that a request took, without texts and
keys.

A thread writes the lines, so that a slow or full disk delays no request.
"""

import contextlib
import datetime
import os
import queue
import re
import stat
import sys
import threading

from absl import logging
from aiohttp.abc import AbstractAccessLogger

MOST_LINES = 20_000  # lines waiting to be written; beyond that, lines are dropped
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
        self.lines, self.is_failing = queue.Queue(MOST_LINES), False
        self.file = opened(path if self.is_file else os.dup(sys.stdout.fileno()))
        self.thread = threading.Thread(target=self.run, name="access_log", daemon=True)
        self.thread.start()

    def add(self, line):
        """Adds a line, which is written soon, or dropped if too many are waiting."""
        try:
            self.lines.put_nowait(line)
        except queue.Full:
            self.failed("too many lines are waiting")

    def close(self):
        """Writes the lines that are waiting, unless that takes too long."""
        with contextlib.suppress(queue.Full):
            self.lines.put(None, timeout=LAST_SECONDS)
        self.thread.join(LAST_SECONDS)

    def run(self):
        while (line := self.lines.get()) is not None:
            try:
                if self.is_file:
                    self.follow_rotation()
                self.file.write(line)
                if self.lines.empty():
                    self.file.flush()
                    self.is_failing = False
            except OSError as error:
                self.failed(error)
        with contextlib.suppress(OSError):
            self.file.close()

    def follow_rotation(self):
        """Opens the file again if its path no longer names the open file."""
        try:
            is_same = os.path.samestat(os.stat(self.path), os.fstat(self.file.fileno()))
        except FileNotFoundError:
            is_same = False
        if not is_same:
            before, self.file = self.file, opened(self.path)  # fails while its folder is missing
            before.close()

    def failed(self, reason):
        if not self.is_failing:
            logging.warning("The access log cannot be written, so it lacks lines: %s", reason)
        self.is_failing = True


def opened(file):
    """Opens a file for appending, given its path or descriptor."""
    is_path = not isinstance(file, int)
    if is_path and os.path.exists(file) and stat.S_ISFIFO(os.stat(file).st_mode):
        raise OSError(f"--access_log={file} must not be a pipe")  # opening would wait for a reader
    private = (lambda name, flags: os.open(name, flags, 0o640)) if is_path else None
    return open(file, "a", encoding="ascii", errors="replace", opener=private)


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
