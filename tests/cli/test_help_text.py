"""--help of every command: readable on 80 columns, and its examples are commands."""

import copy
import importlib
import re
import shlex
import sys

import pytest
from absl import flags
from support.processes.in_process import parsed_flags
from support.text.reference_pages import modules_of_commands

from t2t_keras.cli.help_text import EXAMPLES, help_text

MODULES = modules_of_commands()
OF_LIBRARIES = re.compile(r"--(\[no\])?(logtostderr|pdb|run_with_profiling|log_dir|undefok)\b")


@pytest.fixture(scope="module", params=MODULES)
def command(request):
    """The name of a command, and its module, whose flags are defined."""
    with parsed_flags(MODULES[request.param]) as module:
        yield f"t2t-{request.param}", module


def test_help_fits_the_terminal_and_has_the_flags_of_the_command_alone(command):
    name, module = command
    for width in (80, 100):
        text = help_text(module.__doc__, width)
        _, _, table = text.partition("\nFlags")
        assert (
            max(map(len, text.splitlines())) <= 100 and max(map(len, table.splitlines())) <= width
        )
    assert text.startswith(f"{name}: ") and "\nExamples:\n  t2t-" in text
    own, _, common = text.partition("\nFlags of all commands:\n")
    assert re.findall(r"--(\w+)", common) == ["help", "version", "verbosity", "flagfile"]
    listed = re.findall(r"^  --(?:\[no\])?(\w+)", own, re.M)
    assert len(listed) == len(set(listed)) and not OF_LIBRARIES.search(text)
    defined = flags.FLAGS.flags_by_module_dict().items()
    assert set(listed) == {f.name for m, each in defined if m.startswith("t2t_") for f in each}


def test_each_example_is_a_command(command):
    """Its flags exist, their values are allowed, and so are the settings that it changes."""
    name, module = command
    main = importlib.import_module("t2t_keras.cli.main")
    blocks = re.split(r"\n\s*\n", module.__doc__.replace("\\\n", ""))
    lines = "\n".join(block for block in blocks if EXAMPLES.match(block)).splitlines()
    assert lines
    for line in lines:
        example, _, comment = re.sub(r" {4,}--", " --", line).partition("  ")
        assert not comment.strip().startswith("-") and "…" not in example
        words = shlex.split(example)
        if name not in words:
            assert words[0] == "curl"
            continue
        arguments = words[words.index(name) + 1 :]
        end = [index for index, word in enumerate(arguments) if word in ("<", ">", "|", "<<<")]
        arguments = arguments[: min(end, default=None)]
        others, config = main.without_config([name, *arguments])
        copy.deepcopy(flags.FLAGS)(others)
        if config:
            sys.modules["t2t_keras.cli.flags.config_flag"].load_config(config, "base")


def test_a_flag_says_what_it_takes():
    with parsed_flags("translate") as module:
        text = help_text(module.__doc__, 100)
    assert "  --input=FILE " in text and "  --beam=N " in text and "  --alpha=NUMBER " in text
    assert "  --prefix=VALUE " in text and "  --json  " in text
    assert re.search(r"--engine=NAME .*\n(?: +.*\n)*? +.*One of: auto, litert", text)
    with parsed_flags("train") as module:
        text = help_text(module.__doc__, 100)
    assert "  --run=FOLDER " in text and "  --[no]export " in text and "repeat this" not in text
