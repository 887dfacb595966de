import pytest
from absl import flags
from support.processes.in_process import parsed_flags

from t2t_keras import experiment
from t2t_keras.config_files import find_config


@pytest.fixture
def module():
    with parsed_flags("flags.config_flag") as module:
        yield module


def test_the_last_config_is_loaded_once_and_changed(module, monkeypatch):
    loaded = []
    load, kept = experiment.load_experiment, loaded.append
    monkeypatch.setattr(experiment, "load_experiment", lambda path: kept(path) or load(path))
    module.load_config(["--config.model.d_ff=8", "--config=base", "--config=table3:big"], "gnmt")
    assert loaded == ["table3:big"] and module.CONFIG.value.model.d_ff == 8
    assert module.overrides() == {"model.d_ff": 8} and module.variant() == "big"
    settings, name = module.loaded_config()
    assert settings["model.d_ff"] == 4096 and name == "config table3:big"
    assert flags.FLAGS["config"].config_filename == f"{find_config('table3')}:big"


def test_without_a_config_the_default_is_loaded_or_none(module):
    module.load_config([])
    assert module.CONFIG.value is None
    module.load_config([], "base")
    assert module.config_is("base")


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--config.model.dff=3", r"config.model has no setting 'dff' \(did you mean 'd_ff'\?\)"),
        ("--config.modle.d_ff=3", r"config has no setting 'modle' \(did you mean 'model'\?\)"),
        ("--config.training.steps.x=3", "config.training.steps is a single setting"),
        ("--config.model=3", "--config.model is a group of settings"),
        ("--config.model.d_ff", "--config.model.d_ff needs a value: --config.model.d_ff=VALUE"),
        ("--config.imports=x.py", "--config.imports does not load the files. Give --imports=FILE"),
    ],
)
def test_a_misspelled_setting_is_answered_with_the_nearest_one(module, flag, message):
    with pytest.raises(ValueError, match=message):
        module.load_config([flag], "base")
    with pytest.raises(ValueError, match=r"--config.model.d_ff changes a config: name"):
        module.load_config(["--config.model.d_ff=3"])
