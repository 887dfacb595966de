"""The access log: Apache's combined format and the seconds that a request took, without texts and
keys."""

import datetime
import logging as python_logging
import re
import sys
from logging.handlers import WatchedFileHandler

from absl import logging

LONGEST = 2000  # characters of a field


class AccessLog:
    """A file to which lines are appended; the path "-" is standard output.

    A file that was renamed or removed, as by logrotate, is opened again.
    """

    def __init__(self, path):
        self.is_failing = False
        if path == "-":
            self.handler = python_logging.StreamHandler(sys.stdout)
        else:
            self.handler = WatchedFileHandler(path, encoding="ascii", errors="replace")
        self.handler.handleError = raise_again

    def add(self, line):
        """Writes a line. If that fails, the request is answered all the same."""
        try:
            self.handler.emit(python_logging.makeLogRecord({"msg": line}))
            self.is_failing = False
        except OSError as error:
            if not self.is_failing:
                logging.warning("The access log cannot be written, so it lacks lines: %s", error)
            self.is_failing = True


def raise_again(record):
    raise


def line_of(request, status, size, seconds):
    """Returns the line for an answer. Queries are left out, because they contain texts and keys."""
    now = datetime.datetime.now().astimezone().strftime("%d/%b/%Y:%H:%M:%S %z")
    version = f"HTTP/{request.version.major}.{request.version.minor}"
    referrer, agent = (request.headers.get(name, "-") for name in ("Referer", "User-Agent"))
    first = f"{request.method} {without_query(request.raw_path)} {version}"
    return (
        f'{request.remote or "-"} - - [{now}] "{escaped(first)}" {status} {size or "-"} '
        f'"{escaped(without_query(referrer))}" "{escaped(agent)}" {seconds:.3f}'
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
