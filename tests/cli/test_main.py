"""What all commands have in common, and t2t-parameters: each in a process of its own."""

import pytest
from commands import command, running

from t2t_keras.cli.main import resolve_config
from t2t_keras.experiment import find_config


def parameters(*arguments):
    return command("parameters", *arguments)


def test_parameters_of_a_config_with_a_setting_changed():
    result = parameters("--config=table3:B_dk16", "--config.model.d_ff=1024")
    assert result.returncode == 0, result.stderr
    assert "d_ff=1024" in result.stdout and "d_k=16" in result.stdout
    assert result.stdout.split()[-1] == f"{55_967_744 - 12 * (2 * 512 * 1024 + 1024):,}"


def test_parameters_without_flags_prints_table_3():
    result = parameters()
    assert result.returncode == 0, result.stderr
    rows = {line.split()[0]: line.split()[1:] for line in result.stdout.splitlines()[3:]}
    assert len(rows) == 20
    assert rows["B_dk16"] == ["55.97", "-7.08", "58.07", "-7.08", "58", "-7"]
    assert rows["E_learned"] == ["64.09", "+1.05", "66.19", "+1.05"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--config=bass"], "There is no config 'bass'"),
        (["--config=base", "--config.model.d_ff=wide"], "d_ff=wide: invalid literal"),
        (["--config=base", "--config.model.dropout=1.5"], "`dropout` must be"),
        (["--cofnig=base"], "Unknown command line flag 'cofnig'"),
        (["base"], "takes flags only. Received: base"),
    ],
)
def test_a_mistake_ends_with_one_message_and_exit_code_2(arguments, message):
    result = parameters(*arguments)
    assert result.returncode == 2
    last = result.stderr.strip().splitlines()[-1]
    assert message in last
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_help_tells_what_the_command_does():
    result = parameters("--help")
    assert "how many weights a config's model has" in result.stdout
    assert "--config.SETTING=VALUE" in " ".join(result.stdout.split())


@pytest.mark.parametrize("name", ["translate", "reproduce"])
def test_an_installed_command_says_what_the_module_says(name):
    """Its flags are then defined by a module that is not the one that was started."""
    asked = command(name, "--help")
    with running("console_script", name, "--help", package="") as script:
        assert script.wait() == asked.returncode
        installed = (script.folder / "stdout").read_text()
    defined = asked.stdout.partition(f"/{name}.py:\n")[2]
    assert "--output" in defined and "--config" in defined
    assert ("--beam" in defined) == (name == "translate"), "defined in a file that it imports"
    assert installed.partition(f"/t2t-{name}:\n")[2] == defined
    with running("console_script", name, "--ouptut=x", package="") as script:
        assert script.wait() == 2
        assert script.errors().count("\n") == 1
        assert f"t2t-{name}: Unknown command line flag 'ouptut'" in script.errors()


def test_a_command_whose_output_nobody_reads_ends_quietly():
    """As `t2t-parameters | head -1` may: what is left goes out when the command ends."""
    result = command("parameters", read=False)
    assert result.returncode == 0
    assert "Error" not in result.stderr and "Exception" not in result.stderr


def test_a_shipped_name_becomes_a_path_and_everything_else_stays():
    path = find_config("table3")
    arguments = ["--config.model.d_ff=8", "--config", "table3:big", "x", "--", "--config=no"]
    expected = [f"--config={path}:big", "--config.model.d_ff=8", "x", "--", "--config=no"]
    assert resolve_config(arguments) == expected


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--config.model.dff=3", r"config.model has no setting 'dff' \(did you mean 'd_ff'\?\)"),
        ("--config.modle.d_ff=3", r"config has no setting 'modle' \(did you mean 'model'\?\)"),
        ("--config.training.steps.x=3", "config.training.steps is a single setting"),
        ("--config.model=3", "--config.model is a group of settings"),
    ],
)
def test_a_misspelt_setting_is_answered_with_the_nearest(flag, message):
    with pytest.raises(ValueError, match=message):
        resolve_config(["--config=base", flag])
    with pytest.raises(ValueError, match="name one with --config=NAME"):
        resolve_config([flag])


def test_an_interrupted_command_says_how_to_go_on(tmp_path):
    """As pressing Ctrl-C does it, while text is awaited."""
    result = command(
        *("prepare", "--pairs=-", f"--output={tmp_path}/data"), interrupt_after=3, stdin=None
    )
    assert result.returncode == 130
    assert "prepare.py: interrupted. The same command goes on from here" in result.stderr
    assert "Traceback" not in result.stderr
