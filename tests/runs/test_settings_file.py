import json

import pytest

from t2t_keras.experiment import load_experiment, shipped_configs
from t2t_keras.runs.settings_file import check_same_model, read_settings, write_settings


@pytest.mark.parametrize("name", sorted(shipped_configs()))
def test_every_shipped_config_is_read_as_it_was_written(name, tmp_path):
    experiment = load_experiment(name)
    write_settings(tmp_path / "config.json", experiment)
    assert read_settings(tmp_path / "config.json").flat() == experiment.flat()


def test_versions_and_command_are_recorded(tmp_path):
    path = tmp_path / "config.json"
    write_settings(path, load_experiment("base"), ("t2t-train", "--run=x"))
    settings = json.loads(path.read_text())
    assert settings["command"] == ["t2t-train", "--run=x"]
    assert set(settings["versions"]) == {
        *("t2t-keras", "keras", "tensorflow", "sentencepiece", "numpy")
    }


def test_settings_without_a_search_have_the_papers_search(tmp_path):
    path = tmp_path / "config.json"
    write_settings(path, load_experiment("parsing"))
    settings = json.loads(path.read_text())
    del settings["experiment"]["search"]
    path.write_text(json.dumps(settings))
    assert read_settings(path).search == load_experiment("base").search


def test_only_the_model_and_the_seed_are_compared(tmp_path):
    path, experiment = tmp_path / "config.json", load_experiment("base")
    write_settings(path, experiment)
    experiment.training.steps, experiment.search.alpha = 3, 1.0
    experiment.data.batches.tokens = 99
    check_same_model(path, experiment)
    experiment.training.seed = 2
    with pytest.raises(ValueError, match=r"with training.seed=1, and its .*Received: 2. Keep the"):
        check_same_model(path, experiment)


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"experiment": {')
    with pytest.raises(ValueError, match=r"config.json is damaged .* Delete it"):
        read_settings(tmp_path / "config.json")
