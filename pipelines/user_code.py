"""Descriptions of failures in a user's functions, such as cleaning rules, in one line."""

from pathlib import Path

OURS = str(Path(__file__).parent)  # the folder of this package
LONGEST = 200  # characters of a message


def failure_of(error):
    """Returns an error as one line, such as "KeyError: 'en' (mine.py, line 12)"."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    text = text if len(text) <= LONGEST else text[:LONGEST] + "…"
    place, traceback = "", error.__traceback__
    while traceback and not place:  # the outermost frame of the user's file
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(OURS):
            place = f" ({file}, line {traceback.tb_lineno})"
        traceback = traceback.tb_next
    return text + place


def place_of(function):
    """Returns " of FILE, line N", where a function is defined, or "" if that is unknown."""
    code = getattr(getattr(function, "func", function), "__code__", None)
    if code is None or code.co_filename.startswith(OURS):
        return ""
    return f" of {code.co_filename}, line {code.co_firstlineno}"
