"""The list of all settings of an experiment: values, defaults, meanings, and who changed what."""

import dataclasses
import textwrap
from typing import Any, NamedTuple

from t2t_keras.translating.request import descriptions

COLUMN = 38  # where the remarks about values begin, if there is room


class Setting(NamedTuple):
    """A setting of an experiment.

    Args:
        name: its name in --config.NAME=VALUE.
        value: its value.
        default: its value in the paper's base model, or in the paper of a rival.
        meaning: its description.
    """

    name: str
    value: Any
    default: Any
    meaning: str


def groups_of(experiment):
    """Yields the name of each group of settings, such as "data.batches", and its dataclass."""
    for name in ("model", "training", "search", "data"):
        yield name, getattr(experiment, name)
    for field in dataclasses.fields(experiment.data):
        if dataclasses.is_dataclass(settings := getattr(experiment.data, field.name)):
            yield f"data.{field.name}", settings


def settings_in(group, settings):
    """Returns the `Setting`s of a group.

    Args:
        group, settings: as `groups_of` yields them.
    """
    described, defaults = descriptions(type(settings)), type(settings)()
    return [
        Setting(
            f"{group}.{field.name}", value, getattr(defaults, field.name), described[field.name]
        )
        for field in dataclasses.fields(settings)
        if not dataclasses.is_dataclass(value := getattr(settings, field.name))
    ]


def settings_text(experiment, set_by, source, width):
    """Returns a text with all settings of an experiment.

    Args:
        experiment: the `Experiment`.
        set_by: {setting: the flag that set it}.
        source: what set the others, such as "config multi30k".
        width: columns of the text.
    """
    meaning = descriptions(type(experiment))["imports"]
    groups = [("plug-in files", [Setting("imports", experiment.imports, (), meaning)])]
    for group, settings in groups_of(experiment):
        groups.append((f"{group} ({type(settings).__name__})", settings_in(group, settings)))
    lines = []
    for group, settings in groups:
        lines += ["", group]
        for setting in settings:
            remark = "default"
            if setting.value != setting.default:
                remark = f"{set_by.get(setting.name, source)}; default {setting.default!r}"
            elif setting.name in set_by:
                remark = f"{set_by[setting.name]}; the default"
            lines += lines_about(setting, remark, width)
    return "\n".join(lines[1:])


def lines_about(setting, remark, width):
    """Yields the lines about a setting: its value with a remark, and its meaning."""
    value = f"  {setting.name} = {setting.value!r}"
    line = f"{value:<{COLUMN}}  ({remark})"
    indent = {"initial_indent": " " * 6, "subsequent_indent": " " * 6, "break_long_words": False}
    if len(line) <= width:
        yield line
    else:
        yield value
        yield from textwrap.wrap(f"({remark})", width, **indent)
    yield from textwrap.wrap(setting.meaning, width, break_on_hyphens=False, **indent)
