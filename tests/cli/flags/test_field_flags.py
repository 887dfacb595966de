"""Flags that are made from the fields of a dataclass."""

import dataclasses
from typing import Any

from absl import flags
from support.processes.in_process import parsed_flags

from t2t_keras.cli.flags.shared_flags import define_list


@dataclasses.dataclass
class Settings:
    """Settings of a command.

    Args:
        width: width of the page, in
            letters. None: 80.
        kind: kind of paper; "a4" is larger.
        shown: whether it is shown.
        left_out: a setting without a flag.
        share: share of ink.
        tokens: tokens to print.
        text: a text in pieces.
        either: a text or a list.
    """

    width: int | None = None
    kind: str = dataclasses.field(default="a4", metadata={"choices": ("a4", "a5")})
    shown: bool = False
    left_out: int = 3
    share: float = 0.5
    tokens: tuple[int, ...] = ()
    text: Any = None
    either: str | list | None = None
    undescribed: str = ""


PIECES = "Comma-separated vocabulary pieces; a space before a piece marks the start of a word."


def defined(*arguments, **options):
    """Returns ({name: value}, {name: help}) of the flags of `Settings`."""
    with parsed_flags("flags.field_flags") as module:
        made = module.define_flags(Settings, **options)
        flags.FLAGS(["command", *arguments])
        values = {name: flag.value for name, flag in made.items()}
        return values, {name: flags.FLAGS[name].help for name in made}


def test_every_field_of_a_type_that_a_flag_can_have_is_a_flag():
    values, _ = defined(leave_out=["left_out"])
    names = ["width", "kind", "shown", "share", "tokens", "undescribed"]
    assert values == dict.fromkeys(names) | {"shown": False}
    given = "--width=9", "--kind=a5", "--noshown", "--share=1", "--tokens= a,b"
    values, _ = defined(*given, leave_out=["left_out"], default="the run's")
    expected = {"width": 9, "kind": "a5", "shown": False, "share": 1.0, "tokens": [" a", "b"]}
    assert values == expected | {"undescribed": None}
    assert defined(default="the run's")[0]["shown"] is None, "not given"


def test_the_help_is_the_description_with_a_note_and_the_default():
    _, helps = defined(notes={"share": "Needs --ink."})
    assert helps["width"] == "Width of the page, in letters. Default: 80."
    assert helps["kind"] == '<a4|a5>: Kind of paper; "a4" is larger.'
    assert helps["undescribed"] == "(no help available)"
    _, helps = defined(leave_out=["width"], notes={"share": "Needs --ink."}, default="the run's")
    assert helps["share"] == "Share of ink. Needs --ink. Default: the run's."
    assert helps["tokens"] == f"Tokens to print. {PIECES} Default: the run's."


def test_a_list_flag_given_twice_has_all_values():
    name = "values_of_a_test"
    define_list(name, ["x"], "Values.")
    assert flags.FLAGS[name].value == ["x"]
    flags.FLAGS(["program", f"--{name}=a,b", f"--{name}=c"], known_only=True)
    assert flags.FLAGS[name].value == ["a", "b", "c"]
    delattr(flags.FLAGS, name)
