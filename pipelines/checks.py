"""Errors about settings, input, and the functions of plug-in files.

An error about a setting names the setting, the allowed values and the value received.
"""

import dataclasses
import difflib
import functools
import math
import numbers
import traceback
import types
import typing
from collections.abc import Hashable
from pathlib import Path

from pipelines.printable import shortened

# The folders of this package and of `t2t_keras`, which stand side by side.
OURS = tuple(str(Path(__file__).parent.with_name(name)) for name in ("pipelines", "t2t_keras"))


class SourceError(ValueError):
    """Wrong input from the user. The message says what is wrong and how to fix it."""


WORDS = {"at_least": "at least", "above": "more than", "at_most": "at most", "below": "below"}
NUMBERS = {int: "whole number", float: "number"}
types_of_fields = functools.cache(typing.get_type_hints)


def setting(default, **metadata):
    """Returns a field of a config, with bounds that `validate` checks.

    Args:
        default: its default value.
        **metadata: `at_least`, `above`, `at_most`, `below`; `off`, whether 0 is also allowed; or
            `choices`, which may be a table that grows. Others are for the users of the field.
    """
    return dataclasses.field(default=default, metadata=metadata)


def validate(config, prefix=""):
    """Raises `ValueError` for the first field whose value has a wrong type or is out of bounds.

    Args:
        config: a dataclass with fields of `setting`.
        prefix: precedes the names of settings in messages.
    """
    kinds = types_of_fields(type(config))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        check_value(f"{prefix}{field.name}", value, kinds[field.name], **field.metadata)


def check(condition, name, value, allowed):
    """Raises `ValueError` unless `condition` holds for the setting `name`."""
    if not condition:
        raise ValueError(f"`{name}` must be {allowed}. Received: {name}={value!r}")


def check_value(name, value, kind, choices=None, **rules):
    """Raises `ValueError` unless a value has a type and is within bounds, see `setting`."""
    if not is_allowed(value, kind, choices, **rules):
        close = nearest(value, choices) if choices and isinstance(value, str) else ""
        check(False, name, value, allowed_values(kind, choices, **rules) + close)


def is_allowed(value, kind, choices=None, off=False, **others):
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    if value is None and type(None) in kinds:
        return True
    if choices is not None:
        return isinstance(value, Hashable) and value in choices
    if typing.get_origin(kind) is tuple:
        each_kind = typing.get_args(kind)[0]
        is_list = isinstance(value, tuple | list)
        return is_list and all(is_allowed(each, each_kind, **others) for each in value)
    if kinds[0] in (bool, str):
        return isinstance(value, kinds[0])
    if kinds[0] not in NUMBERS:
        return True
    if not isinstance(value, int if kinds[0] is int else numbers.Real) or isinstance(value, bool):
        return False
    at_least, above = others.get("at_least", -math.inf), others.get("above", -math.inf)
    at_most, below = others.get("at_most", math.inf), others.get("below", math.inf)
    return bool(off and value == 0) or (at_least <= value <= at_most and above < value < below)


def allowed_values(kind, choices=None, off=False, **others):
    """Returns the allowed values of a setting in words, or "" if all are allowed."""
    if choices is not None:
        return f"one of {', '.join(map(repr, choices))}"
    bounds = {name: bound for name, bound in others.items() if name in WORDS}
    words = " and ".join(f"{WORDS[name]} {bound:,}" for name, bound in bounds.items())
    words = f" of {words}" if words else ""
    if {*bounds} == {"at_least", "at_most"}:
        words = f" from {bounds['at_least']:,} to {bounds['at_most']:,}"
    if typing.get_origin(kind) is tuple:
        each = {int: "whole numbers", str: "texts"}[typing.get_args(kind)[0]]
        return f"a tuple of {each}{words}"
    kind = typing.get_args(kind)[0] if isinstance(kind, types.UnionType) else kind
    if bounds == {"above": 0} and not off:
        return "a positive number"
    if kind in NUMBERS:
        return f"{'0 (off) or ' * off}a {NUMBERS[kind]}{words}"
    return {bool: "True or False", str: "text"}.get(kind, "")


def nearest(name, names):
    """Returns " (did you mean ...?)" with the closest of `names`, or "" if none is close."""
    close = difflib.get_close_matches(name.lower(), list(names), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def failure_of(error):
    """Returns an error in a user's function as one line: "KeyError: 'en' (mine.py, line 12)"."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)  # the outermost frame of the user's file
    own = (frame for frame in frames if not frame.filename.startswith(OURS))
    place = next((f" ({frame.filename}, line {frame.lineno})" for frame in own), "")
    return shortened(text, 200) + place
