"""The scripts of t2t-completion, with the flags of all commands and all settings.

`reference_pages` writes them: it replaces the lists in the scripts, and keeps their functions.
"""

import dataclasses
import re
from pathlib import Path
from typing import NamedTuple

from support.processes.in_process import parsed_flags

from pipelines.registry import REGISTRIES
from t2t_keras.cli.benchmark import SUBJECTS
from t2t_keras.cli.help_text import choices_of, command_flags, path_of, purpose_of
from t2t_keras.cli.settings_text import groups_of, settings_in
from t2t_keras.config_files import shipped_configs
from t2t_keras.experiment import Experiment
from t2t_keras.models import MODELS

SCRIPTS = Path(__file__).parents[3] / "t2t_keras" / "cli" / "completion_scripts"
# What the arguments of a command are, if not folders.
ARGUMENTS = {
    "train": "",
    "prepare": "",
    "parameters": "",
    "import": "@file",
    "benchmark": "|".join(SUBJECTS),
    "reproduce": "table1|table2|table3|table4|claims",
    "completion": "bash|zsh",
}
KINDS = {"FILE": "@file", "FOLDER": "@folder"}


class Word(NamedTuple):
    """A flag or a setting.

    Args:
        name: its name without dashes.
        values: None: it is boolean. Otherwise "one|another", "@file", "@folder", "@config", or ""
            for a value that cannot be completed.
        meaning: its meaning in one sentence.
        is_on: whether it is on by default.
    """

    name: str
    values: str | None
    meaning: str
    is_on: bool = False


def words_of(module):
    """Returns the own flags of a command as `Word`s, given the name of its module."""
    with parsed_flags(module):
        defined = {flag.name: flag for flag in command_flags()}
    words = []
    for name, flag in sorted(defined.items()):
        values = None if flag.boolean else KINDS.get(path_of(flag), "")
        if choices := choices_of(flag):
            values = "|".join(choices)
        elif name == "config":
            values = "@config"
        words.append(Word(name, values, sentence(purpose_of(flag)), flag.default is not False))
    return words


COMMON = (
    Word("help", None, "Show help"),
    Word("version", None, "Show versions"),
    Word("flagfile", "@file", "Read further flags from a file"),
    Word("verbosity", "-1|0|1", "Show more messages"),
)


def settings():
    """Returns all settings of all models as `Word`s."""
    groups = [("model", model.config_class()) for model in MODELS.values()]
    groups += [group for group in groups_of(Experiment()) if group[0] != "model"]
    words, tables = {}, {table.setting: table for table in REGISTRIES.values()}
    for group, each in groups:
        choices = {f.name: f.metadata.get("choices", ()) for f in dataclasses.fields(each)}
        for setting in settings_in(group, each):
            values = [choice for choice in choices[setting.name.rpartition(".")[2]] if choice]
            if isinstance(setting.default, bool):
                values = ["True", "False"]
            elif setting.name in tables:
                values = sorted(tables[setting.name])
            name = f"config.{setting.name}"
            words.setdefault(name, Word(name, "|".join(values), sentence(setting.meaning)))
    return list(words.values())


def sentence(text):
    """Returns the first sentence of a text, without its full stop."""
    return re.split(r"\.(?: |$)", " ".join(text.split()))[0]


def configs():
    return sorted({*shipped_configs()} - {"settings_of"})


def with_parts(name, parts):
    """Returns a script with new contents between pairs of texts that are in it.

    Args:
        name: file of the script.
        parts: {(text before, text after): contents}.
    """
    script = (SCRIPTS / name).read_text(encoding="utf-8")
    for (start, end), contents in parts.items():
        before, found, rest = script.partition(start)
        _, found_end, after = rest.partition(end)
        assert found and found_end, f"{name} has no part from {start!r} to {end!r}"
        script = f"{before}{start}{contents}{end}{after}"
    return script


def bash_script(modules):
    """Returns the script for bash."""
    cases = []
    for command, module in modules.items():
        words = [
            form
            for word in (*words_of(module), *COMMON)
            for form in (names_of(word) if word.values is None else [f"{word.name}={word.values}"])
        ]
        arguments = ARGUMENTS.get(command, "@folder")
        cases.append(
            f"    t2t-{command})\n      arguments='{arguments}' words='\n{lines(words)}\n' ;;"
        )
    cases.append("    *) return 1 ;;")
    return with_parts(
        "t2t.bash",
        {
            ("  case $1 in\n", "\n  esac"): "\n".join(cases),
            ("_t2t_settings='\n", "\n'"): lines(
                f"{word.name}={word.values}" for word in settings()
            ),
            ("== @config ]]; then\n    values='", "'"): "|".join(configs()),
            ("complete -F _t2t ", "\n"): " ".join(f"t2t-{command}" for command in modules),
        },
    )


def names_of(word):
    """Returns the names with which a boolean flag is given."""
    return [word.name, f"no{word.name}"] if word.is_on else [word.name]


def lines(words):
    return "\n".join(f"        {word}" for word in words)


def zsh_script(modules):
    """Returns the script for zsh, see `bash_script`."""
    common, cases = ["'-h[Show help]'", *(spec for word in COMMON for spec in specs(word))], []
    for command, module in modules.items():
        own = [spec for word in words_of(module) for spec in specs(word)]
        arguments = ARGUMENTS.get(command, "@folder")
        own += [quoted(f"*:argument:{action(arguments)}")] if arguments else []
        cases.append(
            f"    t2t-{command})\n      _arguments $common \\\n"
            + " \\\n".join(f"        {spec}" for spec in own)
            + " ;;"
        )
    found = settings()
    with_values = [word for word in found if word.values]
    values = (
        f"    --{word.name}) compadd {word.values.replace('|', ' ')} ;;" for word in with_values
    )
    return with_parts(
        "t2t.zsh",
        {
            ("#compdef ", "\n"): " ".join(f"t2t-{command}" for command in modules),
            ("local -a names=(", ")"): " ".join(configs()),
            ("local -a settings=(\n", "\n  )"): lines(
                quoted(f"--{word.name}:{word.meaning}") for word in found
            ),
            ("  case $name in\n", "\n    *)"): "\n".join(values),
            ("local -a common=(\n", "\n  )"): lines(common),
            ("  case $service in\n", "\n  esac"): "\n".join(cases),
        },
    )


def specs(word):
    """Yields the specifications of a flag for zsh's `_arguments`."""
    meaning = word.meaning.replace("[", "(").replace("]", ")")
    if word.values is None:
        yield from (quoted(f"--{name}[{meaning}]") for name in names_of(word))
        return
    star = "*" if word.name == "dev" else ""
    yield quoted(f"{star}--{word.name}=[{meaning}]:{word.name}:{action(word.values)}")


def action(values):
    """Returns the action of `_arguments` that completes a value."""
    actions = {"@file": "_files", "@folder": "_files -/", "@config": "_t2t_configs", "": " "}
    return actions.get(values) or f"({values.replace('|', ' ')})"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"
