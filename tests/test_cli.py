"""The commands as their users run them: in a process of their own."""

import subprocess
import sys

import pytest

from t2t_keras.cli.main import resolve_config
from t2t_keras.experiment import find_config


def command(name, *arguments):
    return subprocess.run(
        [sys.executable, "-m", f"t2t_keras.cli.{name}", *arguments],
        capture_output=True,
        text=True,
    )


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
        ("--config.warmup_steps.x=3", "config.warmup_steps is a single setting"),
        ("--config.model=3", "--config.model is a group of settings"),
    ],
)
def test_a_misspelt_setting_is_answered_with_the_nearest(flag, message):
    with pytest.raises(ValueError, match=message):
        resolve_config(["--config=base", flag])
    with pytest.raises(ValueError, match="name one with --config=NAME"):
        resolve_config([flag])


def test_benchmark_times_full_and_restricted_attention():
    sizes = ["--lengths=16,8", "--neighbourhood=3", "--heads=2", "--d_model=8", "--rounds=1"]
    result = command("benchmark", "attention", *sizes)
    assert result.returncode == 0, result.stderr
    title, lengths, full, restricted = result.stdout.splitlines()
    assert "d_model = 8, h = 2" in title
    assert lengths.split() == ["n", "=", "8", "n", "=", "16"]
    assert full.startswith("full ") and restricted.startswith("r = 3 ")
    for line in (full, restricted):
        assert line.count(" ms") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to measure"),
        (["atention"], "did you mean 'attention'"),
        (["attention", "--lengths=8,x"], "`lengths` must be a whole number"),
        (["attention", "--rounds=0"], "--rounds=0: 0 is not a positive integer"),
    ],
)
def test_benchmark_names_what_is_wrong(arguments, message):
    result = command("benchmark", *arguments)
    assert result.returncode == 2
    assert message in result.stderr.strip().splitlines()[-1]
