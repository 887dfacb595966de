"""Errors about settings, input, and the functions of plug-in files.

An error about a setting names the setting, the allowed values and the value received.
"""

import dataclasses
import difflib
import math
from pathlib import Path

from pipelines.printable import shortened

OURS = str(Path(__file__).parent)  # the folder of this package


class SourceError(ValueError):
    """Wrong input from the user. The message says what is wrong and how to fix it."""


class LineError(ValueError):
    """An error in a line of a file.

    Args:
        line: number of the line.
        message: message of the error.
    """

    def __init__(self, line, message):
        super().__init__(message)
        self.line = line


def setting(default, **metadata):
    """Returns a field of a config, with bounds that `validate` checks.

    Args:
        default: its default value.
        **metadata: `at_least` and `at_most`; `off`, whether 0 is also allowed; or `choices`.
    """
    return dataclasses.field(default=default, metadata=metadata)


def validate(config, prefix=""):
    """Raises `ValueError` for the first number, choice or boolean that is wrong.

    Args:
        config: a dataclass with fields of `setting`.
        prefix: precedes the names of settings in messages.
    """
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if allowed := refusal(value, field.type, **field.metadata):
            name = f"{prefix}{field.name}"
            raise ValueError(f"`{name}` must be {allowed}. Received: {name}={value!r}")


def refusal(value, kind, at_least=None, at_most=None, off=False, choices=(), **others):
    """Returns the allowed values in words if `value` is none of them. None: it is allowed."""
    if choices:
        return None if value in choices else f"one of {', '.join(map(repr, choices))}"
    if kind is bool:
        return None if isinstance(value, bool) else "True or False"
    if kind not in (int, float):
        return None
    is_number = isinstance(value, kind | int) and not isinstance(value, bool)
    if is_number and math.isfinite(value):
        above = at_least is None or value >= at_least
        if (off and value == 0) or (above and (at_most is None or value <= at_most)):
            return None
    least = "" if at_least is None else f" of at least {at_least}"
    bounds = least if at_most is None else f" from {at_least} to {at_most}"
    return "0 (off) or " * off + ("a whole number" if kind is int else "a number") + bounds


def nearest(name, names):
    """Returns " (did you mean ...?)" with the closest of `names`, or "" if none is close."""
    close = difflib.get_close_matches(name, names, n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def size_too_large(size, largest):
    """Returns the error for a vocabulary with more pieces than the text yields."""
    return ValueError(
        f"The text is too small for a vocabulary of {size:,} pieces: it can have at most "
        f"{largest:,}. Choose a smaller data.vocabulary.size. Received: size={size}"
    )


def size_too_small(size, smallest):
    """Returns the error for a vocabulary with too few pieces for the characters of the text."""
    return ValueError(
        f"A vocabulary of {size:,} pieces cannot hold all characters of the text: it needs at "
        f"least {smallest:,}, or a smaller `character_coverage`. Received: size={size}"
    )


def failure_of(error):
    """Returns an error in a user's function as one line: "KeyError: 'en' (mine.py, line 12)"."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    place, traceback = "", error.__traceback__
    while traceback and not place:  # the outermost frame of the user's file
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(OURS):
            place = f" ({file}, line {traceback.tb_lineno})"
        traceback = traceback.tb_next
    return shortened(text, 200) + place


def place_of(function):
    """Returns " of FILE, line N", where a user's function is defined, or ""."""
    code = getattr(getattr(function, "func", function), "__code__", None)
    if code is None or code.co_filename.startswith(OURS):
        return ""
    return f" of {code.co_filename}, line {code.co_firstlineno}"
