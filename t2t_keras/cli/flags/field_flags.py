"""Flags made from the fields of a dataclass, so that a new field is a new flag.

A flag has the type of its field, its choices are in the field's metadata, and its help is
the field's description in the docstring.
"""

import csv
import dataclasses
import functools
import types
from collections.abc import Sequence
from typing import get_args

from absl import flags

from t2t_keras.cli.flags.shared_flags import define_list
from t2t_keras.translating.request import descriptions


class PieceList(flags.ListParser):
    """Comma-separated pieces. Keeps their leading spaces, which mark the start of a word."""

    def parse(self, argument):
        if isinstance(argument, list):
            return argument
        try:
            return next(csv.reader([argument], strict=True), [])
        except csv.Error as error:
            raise ValueError(
                "must be pieces separated by commas. A piece with a comma or a quotation mark is "
                'written in quotation marks: "," or """"'
            ) from error


IDS = tuple[int, ...]
PIECES = "Comma-separated vocabulary pieces; a space before a piece marks the start of a word."
DEFINE = {
    bool: flags.DEFINE_bool,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    str: flags.DEFINE_string,
    IDS: functools.partial(define_list, parser=PieceList()),
    Sequence[int]: define_list,
    Sequence[str]: define_list,
}


def define_flag(field, default, purpose):
    """Defines the flag of a dataclass field, whose metadata may have `choices` or `repeated`."""
    if choices := field.metadata.get("choices"):
        return flags.DEFINE_enum(field.name, default, choices, purpose)
    if field.metadata.get("repeated"):
        return flags.DEFINE_multi_string(field.name, None, purpose)
    if isinstance(default, tuple):
        default = [*map(str, default)]
    return DEFINE[type_of(field)](field.name, default, purpose)


def define_flags(cls, leave_out=(), notes=None, default=None):
    """Defines a flag for each field of a dataclass whose type a flag can have.

    Returns {name: flag}.

    Args:
        notes: {name: text that is added to the description}.
        default: the default of all flags, in words. None: the descriptions contain the defaults.
    """
    described, notes = descriptions(cls), notes or {}
    defined = {}
    for field in dataclasses.fields(cls):
        kind = type_of(field)
        if field.name in leave_out or kind not in DEFINE:
            continue
        note = PIECES if kind == IDS else notes.get(field.name)
        purpose = help_of(described.get(field.name, ""), note, default)
        # False is shown in the help. A flag that is not given is None.
        value = field.default if kind is bool and default is None else None
        defined[field.name] = define_flag(field, value, purpose)
    return defined


def type_of(field):
    """Returns the type of a field. For "X or None", it is X."""
    kinds = {*get_args(field.type)} - {type(None)}
    if isinstance(field.type, types.UnionType):
        return kinds.pop() if len(kinds) == 1 else None
    return field.type


def help_of(description, note=None, default=None):
    """Returns the help: a field's description, in which "None: " begins the default, and a note."""
    text, found, own = description.partition("None: ")
    text = text[:1].upper() + text[1:].rstrip()
    sentences = [text, note, found and f"Default: {own}", default and f"Default: {default}."]
    return " ".join(sentence for sentence in sentences if sentence)
