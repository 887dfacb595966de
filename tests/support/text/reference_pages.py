"""Writes the reference pages of flags and settings from the code.

    PYTHONPATH=.:tests .venv/bin/python -m support.text.reference_pages

tests/cli/test_cli_reference.py compares the pages with the code.
"""

import dataclasses
import inspect
import re
from pathlib import Path

from absl import flags
from support.processes.in_process import parsed_flags

from t2t_keras.experiment import Experiment
from t2t_keras.models import MODELS

ROOT = Path(__file__).parents[3]
PAGES = {"t2t_keras/cli/FLAGS.md": "flags_page", "configs/SETTINGS.md": "settings_page"}
HEAD = "\nThis page is made from the code by `tests/support/text/reference_pages.py`.\n"


def written(name):
    """Returns the contents of a page of `PAGES`."""
    return globals()[PAGES[name]]()


def flags_page():
    setup = (ROOT / "setup.py").read_text(encoding="utf-8")
    commands = re.search(r"for command in \(\n(.*?)\)", setup, re.S)[1]
    sections = ["# Flags of all commands", HEAD]
    for command in re.findall(r'"(\w+)"', commands):
        with parsed_flags({"import": "import_model"}.get(command, command)):
            defined = {
                flag.name: flag
                for module, found in flags.FLAGS.flags_by_module_dict().items()
                if module.startswith("t2t_keras.")
                for flag in found
            }
        rows = [
            (
                f"`--{name}`",
                default_of(flag),
                cell(re.sub(r"^<.*?>: ", "", flag.help)) + choices(flag),
            )
            for name, flag in sorted(defined.items())
        ]
        sections.append(f"## t2t-{command}\n\n" + table(("flag", "default", "purpose"), rows))
    return "\n".join(sections)


def default_of(flag):
    return "" if flag.default is None else f"`{flag.default_as_str.strip(chr(39))}`"


def choices(flag):
    """Returns a sentence with the choices of a flag, or ""."""
    names = [f"`{choice}`" for choice in getattr(flag.parser, "enum_values", ()) if choice]
    return f" Choices: {', '.join(names)}." if names else ""


def settings_page():
    sections = [
        "# Settings",
        HEAD + "Each setting is a field of a config, and `--config.NAME=VALUE` on command lines.\n",
    ]
    groups = [("training", Experiment().training), ("search", Experiment().search)]
    data = Experiment().data
    groups.append(("data", data))
    groups += [
        (f"data.{field.name}", getattr(data, field.name))
        for field in dataclasses.fields(data)
        if dataclasses.is_dataclass(getattr(data, field.name))
    ]
    models = [(f"model ({name})", model.config_class()) for name, model in MODELS.items()]
    for name, settings in models + groups:
        described = described_fields(type(settings))
        rows = [
            (
                f"`{name.split()[0]}.{field.name}`",
                f"`{value!r}`",
                cell(described.get(field.name, "")),
            )
            for field in dataclasses.fields(settings)
            if not dataclasses.is_dataclass(value := getattr(settings, field.name))
        ]
        sections.append(f"## {name}\n\n" + table(("setting", "default", "meaning"), rows))
    return "\n".join(sections)


def described_fields(cls):
    """Returns {field: description} from the docstrings of a dataclass and its bases."""
    found = {}
    for each in reversed(cls.__mro__[:-1]):
        arguments = inspect.cleandoc(each.__doc__ or "").partition("\nArgs:\n")[2]
        described = re.findall(r"^ {4}([\w, ]+): (.*(?:\n {8}.*)*)", arguments, re.MULTILINE)
        found |= {name: text for names, text in described for name in names.split(", ")}
    return found


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def main():
    for name in PAGES:
        (ROOT / name).write_text(written(name), encoding="utf-8")


if __name__ == "__main__":
    main()
