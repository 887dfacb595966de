"""A run's folder at the beginning of a training, new or resumed."""

import logging

import pytest
from support.runs.untrained import tiny_experiment, toy_tokenizer

from pipelines.atomic_files import read_json
from t2t_keras.runs import Run
from t2t_keras.runs.training.run_start import begin, moved_text_named, unchanged_on_error


@pytest.fixture
def begun(tmp_path):
    """A run that has begun, its experiment and its vocabulary."""
    vocabulary = tmp_path / "vocabulary"
    toy_tokenizer(vocabulary)
    run, experiment = Run(tmp_path / "run"), tiny_experiment(folder="data/mine")
    begin(run, experiment, vocabulary, ["t2t-train", "--data=data/mine"])
    return run, experiment, vocabulary


def test_each_change_of_a_resumed_run_is_logged(begun, caplog):
    run, experiment, vocabulary = begun
    experiment.training.steps, experiment.data.folder = 9, "data/moved"
    with caplog.at_level(logging.INFO, logger="absl"):
        begin(run, experiment, vocabulary, ["t2t-train"])
    changes = ["training.steps: 1700 -> 9", "data.folder: 'data/mine' -> 'data/moved'"]
    assert sorted(caplog.messages) == sorted(changes)
    assert run.experiment() == experiment
    assert read_json(run.config_file)["command"] == ["t2t-train"]


def test_a_run_that_is_resumed_unchanged_keeps_the_command_that_made_its_settings(begun, caplog):
    run, experiment, vocabulary = begun
    with caplog.at_level(logging.INFO, logger="absl"):
        begin(run, experiment, vocabulary, ["t2t-train", "--run=x"])
    assert not caplog.messages
    assert read_json(run.config_file)["command"] == ["t2t-train", "--data=data/mine"]


def test_an_error_leaves_a_run_as_it_was(begun):
    run, experiment, vocabulary = begun
    before = {path: path.is_file() and path.read_bytes() for path in run.folder.rglob("*")}
    experiment.training.steps = 9
    with pytest.raises(ValueError, match="mistake"), unchanged_on_error(run):
        begin(run, experiment, vocabulary)
        raise ValueError("mistake")
    after = {path: path.is_file() and path.read_bytes() for path in run.folder.rglob("*")}
    assert after == before


def test_an_error_leaves_what_other_commands_wrote_meanwhile(begun, tmp_path):
    run, experiment, vocabulary = begun
    new = Run(tmp_path / "new")
    new.folder.mkdir()
    for each in (run, new):
        with pytest.raises(ValueError, match="mistake"), unchanged_on_error(each):
            begin(each, experiment, vocabulary)
            (each.folder / "export").mkdir()
            (each.folder / "report.html").touch()
            raise ValueError("mistake")
    assert {path.name for path in new.folder.iterdir()} == {"export", "report.html"}
    assert (run.folder / "export").exists() and (run.folder / "report.html").exists()


def test_text_that_is_not_at_its_recorded_place_is_reported_with_the_flag(begun, tmp_path):
    run, experiment, _ = begun
    with (
        pytest.raises(ValueError, match=r"nothing here\. .*elsewhere now, give --data$"),
        moved_text_named(run, experiment, "--data"),
    ):
        raise ValueError("nothing here")
    experiment.data.folder = "given"
    for each in (run, Run(tmp_path / "new")):
        with (
            pytest.raises(ValueError, match=r"^nothing here$"),
            moved_text_named(each, experiment, "--data"),
        ):
            raise ValueError("nothing here")
