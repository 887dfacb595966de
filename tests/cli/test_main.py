"""Behavior common to all commands: mistakes, --help, --version, Ctrl-C, a closed output."""

import importlib.metadata
import subprocess
import sys

import pytest
from support.processes.commands import HELPERS, command, running
from support.processes.in_process import ended, refused


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--config=bass", "There is no config 'bass'"),
        ("--config=base --config.model.d_ff=wide", "d_ff=wide: invalid literal"),
        ("--config=base --config.model.dropout=1.5", "`model.dropout` must be"),
        ("--version=maybe", "flag --version=maybe: must be true or false"),
        ("--config=base --config.model.dff=3", "(did you mean 'd_ff'?)"),
        ("--config --version", "There is no config '--version'"),
        ("base", "takes flags only. Received: base"),
    ],
)
def test_a_mistake_ends_with_one_message_and_exit_code_2(line, message):
    last = refused("parameters", line)
    assert last.startswith("parameters.py: ") and message in last


def test_a_file_name_cannot_break_the_message_into_lines_or_control_the_terminal():
    result = command("evaluate", "--hypotheses=x", "--reference=a\nb\x1b[2J\u202e")
    assert result.returncode == 2
    assert result.stderr.splitlines()[-1].startswith("evaluate.py: a\\nb\\x1b[2J\\u202e: ")


def test_a_defect_ends_with_a_traceback_and_exit_code_1():
    with running("defective_command", package=HELPERS) as process:
        assert process.wait() == 1
        assert "Traceback" in process.errors() and "KeyError: 'defect'" in process.errors()


def test_an_installed_command_prints_the_help_of_its_module():
    """In an installed command, `__main__` is the script and not the module of the command."""
    of_module = ended("translate", "--help")
    assert "t2t-translate: translates lines" in of_module.stdout and not of_module.stderr
    assert "--beam=N" in of_module.stdout
    with running("console_script", "translate", "-h", package=HELPERS) as script:
        assert script.wait() == of_module.returncode == 0
        assert (script.folder / "stdout").read_text() == of_module.stdout
    with running("console_script", "translate", "--ouptut=x", package=HELPERS) as script:
        assert script.wait() == 2
        message = "t2t-translate: Unknown command line flag 'ouptut'. Did you mean: output? See "
        assert script.errors().splitlines()[-1] == f"{message}t2t-translate --help"


def test_version_names_what_computes_without_loading_it():
    process = [sys.executable, "-X", "importtime", "-m", "t2t_keras.cli", "train", "--version"]
    result = subprocess.run(process, capture_output=True, text=True, check=True)
    versions = [importlib.metadata.version(name) for name in ("tensorflow", "keras")]
    python = ".".join(map(str, sys.version_info[:3]))
    expected = "t2t_keras {} (TensorFlow {}, Keras {}, Python {})\n"
    own = importlib.metadata.version("t2t-keras")
    assert result.stdout == expected.format(own, *versions, python)
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "absl.app" in imported and not imported & {"tensorflow", "keras", "numpy"}


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_a_command_ends_quietly_when_its_output_is_closed(arguments):
    """As in `t2t-parameters | head -1`. The rest of the output is written at the end."""
    result = command("parameters", *arguments, read=False)
    assert result.returncode == 0
    assert "Error" not in result.stderr and "Exception" not in result.stderr


def test_ctrl_c_ends_a_command_with_a_message(tmp_path):
    """The command waits for text when Ctrl-C is pressed."""
    result = command(
        *("prepare", "--pairs=-", f"--output={tmp_path}/data"), interrupt_after=1, stdin=None
    )
    assert result.returncode == 130
    assert result.stderr.endswith("\nprepare.py: interrupted\n"), "there is nothing to resume yet"
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "flag", "ours"), [("translate", "src", "input"), ("prepare", "src", "source")]
)
def test_flags_of_other_programs_lead_to_ours(name, flag, ours):
    assert f"flag {flag!r}. Did you mean: {ours}? See {name}" in refused(name, f"--{flag}=x")
