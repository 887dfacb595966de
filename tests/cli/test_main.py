"""Behavior common to all commands: mistakes, --help, --version, Ctrl-C, a closed output."""

import importlib.metadata
import subprocess
import sys

import pytest
from support.processes.commands import HELPERS, command, running


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config=bass"], "There is no config 'bass'"),
        (["--config=base", "--config.model.d_ff=wide"], "d_ff=wide: invalid literal"),
        (["--config=base", "--config.model.dropout=1.5"], "`model.dropout` must be"),
        (["--version=maybe"], "flag --version=maybe: must be true or false"),
        (["--config=base", "--config.model.dff=3"], "(did you mean 'd_ff'?)"),
        (["--cofnig=base"], "Unknown command line flag 'cofnig'"),
        (["base"], "takes flags only. Received: base"),
    ],
)
def test_a_mistake_ends_with_one_message_and_exit_code_2(arguments, message):
    result = command("parameters", *arguments)
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert last.startswith("parameters.py: ") and message in last
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_file_name_cannot_break_the_message_into_lines_or_control_the_terminal():
    result = command("evaluate", "--hypotheses=x", "--reference=a\nb\x1b[2J\u202e")
    assert result.returncode == 2
    last = result.stderr.splitlines()[-1]
    assert last.startswith("evaluate.py: a\\nb\\x1b[2J\\u202e: ")


def test_a_defect_ends_with_a_traceback_and_exit_code_1():
    with running("defective_command", package=HELPERS) as process:
        assert process.wait() == 1
        assert "Traceback" in process.errors() and "KeyError: 'defect'" in process.errors()


def test_help_is_the_docstring_and_all_flags_of_the_command():
    result = command("parameters", "--help")
    assert (result.returncode, result.stderr.count("\n")) == (0, 0)
    text = " ".join(result.stdout.split())
    assert "t2t-parameters: counts the weights of a config's model" in text
    assert "--config.SETTING=VALUE" in text and "--beam" not in text


@pytest.mark.parametrize("name", ["translate", "reproduce"])
def test_an_installed_command_prints_the_help_of_its_module(name):
    """In an installed command, `__main__` is the script and not the module of the command."""
    of_module = command(name, "--help")
    with running("console_script", name, "-h", package=HELPERS) as script:
        assert script.wait() == of_module.returncode == 0
        assert (script.folder / "stdout").read_text() == of_module.stdout
    with running("console_script", name, "--ouptut=x", package=HELPERS) as script:
        assert script.wait() == 2
        message = f"t2t-{name}: Unknown command line flag 'ouptut'. Did you mean: output? See "
        assert script.errors().splitlines()[-1] == f"{message}t2t-{name} --help"


def test_version_names_what_computes_without_loading_it():
    process = [sys.executable, "-X", "importtime", "-m", "t2t_keras.cli.train", "--version"]
    result = subprocess.run(process, capture_output=True, text=True, check=True)
    versions = [importlib.metadata.version(name) for name in ("tensorflow", "keras")]
    python = ".".join(map(str, sys.version_info[:3]))
    expected = "t2t_keras {} (TensorFlow {}, Keras {}, Python {})\n"
    own = importlib.metadata.version("t2t-keras")
    assert result.stdout == expected.format(own, *versions, python)
    imported = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert "absl.app" in imported and not imported & {"tensorflow", "keras", "numpy"}


def test_help_is_not_asked_for_by_the_value_of_a_flag():
    result = command("translate", "nowhere", "--prefix", "-h")
    assert result.returncode == 2 and result.stdout == "" and "nowhere" in result.stderr
    assert command("parameters", "--config", "--version").returncode == 2


@pytest.mark.parametrize("arguments", [(), ("--help",)])
def test_a_command_ends_quietly_when_its_output_is_closed(arguments):
    """As in `t2t-parameters | head -1`. The rest of the output is written at the end."""
    result = command("parameters", *arguments, read=False)
    assert result.returncode == 0
    assert "Error" not in result.stderr and "Exception" not in result.stderr


def test_ctrl_c_ends_a_command_with_a_message(tmp_path):
    """The command waits for text when Ctrl-C is pressed."""
    result = command(
        *("prepare", "--pairs=-", f"--output={tmp_path}/data"), interrupt_after=2, stdin=None
    )
    assert result.returncode == 130
    assert result.stderr.endswith("\nprepare.py: interrupted\n"), "there is nothing to resume yet"
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "flag", "ours"),
    [
        ("translate", "beam_size", "beam"),
        ("translate", "src", "input"),
        ("prepare", "src", "source"),
        ("evaluate", "lc", "lowercase"),
        ("train", "save_dir", "run"),
    ],
)
def test_flags_of_other_programs_lead_to_ours(name, flag, ours):
    error = command(name, f"--{flag}=x").stderr
    assert f"flag {flag!r}. Did you mean: {ours}? See {name}" in error
