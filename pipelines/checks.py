"""Errors about settings, input, and the functions of plug-in files.

An error about a setting names the setting, the allowed values and the value received.
"""

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


def check_whole_number(name, value, at_least=1):
    """Raises `ValueError` unless `value` is an int of at least `at_least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise ValueError(
            f"`{name}` must be a whole number of at least {at_least}. Received: {name}={value!r}"
        )


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


def no_text():
    """Returns the error for learning a vocabulary from no text."""
    return ValueError("There is no text to learn a vocabulary from")


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
