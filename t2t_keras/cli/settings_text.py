"""The list of all settings of an experiment: values, defaults, meanings."""

import dataclasses
import textwrap
from typing import Any, NamedTuple

from pipelines.checks import allowed_values, types_of_fields
from t2t_keras.translating.request import descriptions

COLUMN = 38  # where the remarks about values begin, if there is room


class Setting(NamedTuple):
    name: str
    value: Any
    default: Any  # in the paper's model
    meaning: str
    allowed: str = ""


def groups_of(experiment):
    """Yields the name of each group of settings, such as "data.batches", and its dataclass."""
    for name in ("model", "training", "search", "data"):
        yield name, getattr(experiment, name)
    for field in dataclasses.fields(experiment.data):
        if dataclasses.is_dataclass(settings := getattr(experiment.data, field.name)):
            yield f"data.{field.name}", settings


def settings_in(group, settings):
    """Returns the `Setting`s of a group that `groups_of` yields."""
    described, defaults = descriptions(type(settings)), type(settings)()
    kinds = types_of_fields(type(settings))
    return [
        Setting(
            f"{group}.{field.name}",
            value,
            getattr(defaults, field.name),
            described.get(field.name, ""),
            allowed_values(kinds[field.name], **field.metadata),
        )
        for field in dataclasses.fields(settings)
        if not dataclasses.is_dataclass(value := getattr(settings, field.name))
    ]


def settings_text(experiment, width):
    """Returns a text with all settings of an `Experiment`, `width` columns wide."""
    meaning = descriptions(type(experiment))["imports"]
    groups = [("plug-in files", [Setting("imports", experiment.imports, (), meaning)])]
    for group, settings in groups_of(experiment):
        groups.append((f"{group} ({type(settings).__name__})", settings_in(group, settings)))
    indent = {"initial_indent": " " * 6, "subsequent_indent": " " * 6, "break_long_words": False}
    lines = []
    for group, settings in groups:
        lines += ["", group]
        for name, value, default, meaning, _ in settings:
            remark = "(default)" if value == default else f"(default {default!r})"
            text = f"  {name} = {value!r}"
            beside = f"{text:<{COLUMN}}  {remark}"
            is_short = len(beside) <= width
            lines += [beside] if is_short else [text, *textwrap.wrap(remark, width, **indent)]
            lines += textwrap.wrap(meaning, width, break_on_hyphens=False, **indent)
    return "\n".join(lines[1:])
