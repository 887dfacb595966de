import pytest
from support.processes.in_process import parsed_flags

from t2t_keras.config_files import find_config

BASE = f"--config={find_config('base')}"


@pytest.fixture
def resolve():
    with parsed_flags("flags.config_flag") as module:
        yield module.resolve_config


def test_the_name_of_a_config_becomes_its_path_in_front_of_all_arguments(resolve):
    path = find_config("table3")
    arguments = ["--config.model.d_ff=8", "--config", "table3:big", "x", "--", "--config=no"]
    expected = [f"--config={path}:big", "--config.model.d_ff=8", "x", "--", "--config=no"]
    assert resolve(arguments) == expected
    assert resolve(["x", "-config=table3:big"]) == [f"--config={path}:big", "x"]


def test_a_default_config_is_used_unless_a_config_is_given(resolve):
    assert resolve(["x", "--", "--config=big"], "base") == [BASE, "x", "--", "--config=big"]
    assert resolve(["--config.model.d_ff=8"], "base") == [BASE, "--config.model.d_ff=8"]
    for given in (["--config=base"], ["--config", "base"], ["-config=base"]):
        assert resolve(given, "quickstart") == [BASE]
    assert resolve(["x"]) == ["x"]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--config.model.dff=3", r"config.model has no setting 'dff' \(did you mean 'd_ff'\?\)"),
        ("--config.modle.d_ff=3", r"config has no setting 'modle' \(did you mean 'model'\?\)"),
        ("--config.training.steps.x=3", "config.training.steps is a single setting"),
        ("--config.model=3", "--config.model is a group of settings"),
        ("-config.imports=x.py", "--config.imports does not load the files. Give --imports=FILE"),
    ],
)
def test_a_misspelled_setting_is_answered_with_the_nearest_one(resolve, flag, message):
    with pytest.raises(ValueError, match=message):
        resolve([flag], "base")
    with pytest.raises(ValueError, match=r"--config.model.d_ff changes a config: name"):
        resolve(["--config.model.d_ff=3"])
