"""Writes the reference pages of flags and settings, and the scripts for shells, from the code.

    PYTHONPATH=.:tests .venv/bin/python -m support.text.reference_pages

tests/cli/test_cli_reference.py compares the pages with the code.
"""

import tomllib
from pathlib import Path

from support.processes.in_process import parsed_flags
from support.text.completion_scripts import bash_script, zsh_script

from t2t_keras.cli.help_text import COMMON, choices_of, command_flags, default_of, purpose_of
from t2t_keras.cli.main import MODULES
from t2t_keras.cli.settings_text import groups_of, settings_in
from t2t_keras.experiment import Experiment
from t2t_keras.models import MODELS

ROOT = Path(__file__).parents[3]
PAGES = {
    "t2t_keras/cli/FLAGS.md": "flags_page",
    "configs/SETTINGS.md": "settings_page",
    "t2t_keras/cli/completion_scripts/t2t.bash": "bash_page",
    "t2t_keras/cli/completion_scripts/t2t.zsh": "zsh_page",
}
HEAD = "\nThis page is made from the code by `tests/support/text/reference_pages.py`.\n"


def written(name):
    """Returns the contents of a page of `PAGES`."""
    return globals()[PAGES[name]]()


def modules_of_commands():
    """Returns {name of a command without t2t-: name of its module}."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    return {name: MODULES.get(name, name) for name in (each[len("t2t-") :] for each in scripts)}


def bash_page():
    return bash_script(modules_of_commands())


def zsh_page():
    return zsh_script(modules_of_commands())


def flags_page():
    sections = ["# Flags of all commands", HEAD]
    for command, module in modules_of_commands().items():
        with parsed_flags(module):
            defined = {flag.name: flag for flag in command_flags()}
        rows = [
            (f"`--{name}`", code(default_of(flag)), cell(purpose_of(flag)) + choices(flag))
            for name, flag in sorted(defined.items())
        ]
        flags = (
            table(("flag", "default", "purpose"), rows) if rows else "It has only those below.\n"
        )
        sections.append(f"## t2t-{command}\n\n{flags}")
    common = [(code(name), "", cell(purpose)) for name, purpose in COMMON]
    sections.append("## All commands\n\n" + table(("flag", "default", "purpose"), common))
    return "\n".join(sections)


def choices(flag):
    """Returns a sentence with the choices of a flag, or ""."""
    names = [code(choice) for choice in choices_of(flag)]
    return f" Choices: {', '.join(names)}." if names else ""


def settings_page():
    sections = [
        "# Settings",
        HEAD + "Each setting is a field of a config, and `--config.NAME=VALUE` on command lines.\n"
        "`t2t-train --config=NAME --show` prints those of a config.\n",
    ]
    groups = [("model", model.config_class(), f" ({name})") for name, model in MODELS.items()]
    groups += [(*group, "") for group in groups_of(Experiment()) if group[0] != "model"]
    for group, settings, title in groups:
        rows = [
            (code(each.name), code(repr(each.default)), cell(each.allowed), cell(each.meaning))
            for each in settings_in(group, settings)
        ]
        sections.append(
            f"## {group}{title}\n\n" + table(("setting", "default", "allowed", "meaning"), rows)
        )
    return "\n".join(sections)


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def code(text):
    return f"`{text}`" if text else ""


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def main():
    for name in PAGES:
        (ROOT / name).write_text(written(name), encoding="utf-8")


if __name__ == "__main__":
    main()
