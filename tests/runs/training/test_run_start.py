"""A run's folder at the beginning of a training, new or resumed."""

import dataclasses
import logging

import pytest
from support.runs.untrained import learned_tokenizer, tiny_experiment

from pipelines.atomic_files import read_json, write_json
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer
from t2t_keras.experiment import Experiment
from t2t_keras.runs import Run
from t2t_keras.runs.training import run_start
from t2t_keras.runs.training.run_start import begin, check_folder, check_unchanged, record_hardware


@pytest.fixture
def begun(tmp_path):
    """A run that has begun, and its experiment."""
    folder = tmp_path / "data"
    folder.mkdir()
    write_json(folder / "preparation.json", {"leaves": ["tag", 3], "languages": ["en", "fr"]})
    run, experiment = Run(tmp_path / "new" / "run"), tiny_experiment(folder=str(folder))
    begin(run, experiment, learned_tokenizer(), ["t2t-train", "--data=data"])
    return run, experiment


def test_each_change_of_a_resumed_run_is_logged(begun, tmp_path, caplog):
    run, experiment = begun
    before, moved = experiment.data.folder, str(tmp_path / "moved")
    experiment.training.steps, experiment.data.folder = 9, moved
    with caplog.at_level(logging.INFO, logger="absl"):
        begin(run, experiment, learned_tokenizer(), ["t2t-train"])
    changes = ["training.steps: 1700 -> 9", f"data.folder: {before!r} -> {moved!r}"]
    assert sorted(caplog.messages) == sorted(changes)
    assert run.experiment() == experiment and run.vocabulary().size == 400
    assert read_json(run.config_file)["command"] == ["t2t-train"]
    assert run.prepared_with("leaves") is None


def test_a_run_that_is_resumed_unchanged_keeps_the_command_that_made_its_settings(begun, caplog):
    run, experiment = begun
    config = read_json(run.config_file)
    write_json(run.config_file, config | {"hardware": [1], "init": "a", "base": {"hub": "b"}})
    with caplog.at_level(logging.INFO, logger="absl"):
        begin(run, experiment, learned_tokenizer(), ["t2t-train", "--run=x"])
    assert not caplog.messages
    found = read_json(run.config_file)
    assert run.prepared_with("leaves") == found["preparation"]["leaves"] == ["tag", 3]
    assert found["command"] == ["t2t-train", "--data=data"]
    assert (found["hardware"], found["init"], found["base"]) == ([1], "a", {"hub": "b"})


def test_the_model_and_the_vocabulary_of_a_run_are_fixed(begun):
    run, experiment = begun
    check_unchanged(run, experiment, learned_tokenizer())
    changed = dataclasses.replace(experiment, model=dataclasses.replace(experiment.model, d_ff=32))
    with pytest.raises(ValueError, match=r"was started with model.d_ff=.* Received: 32"):
        check_unchanged(run, changed, learned_tokenizer())
    with pytest.raises(ValueError, match="was started with a different vocabulary"):
        check_unchanged(run, experiment, WordPieceTokenizer([*SPECIAL_PIECES, "a"]))


def test_an_imported_run_is_not_resumed(begun):
    run, _ = begun
    write_json(run.config_file, read_json(run.config_file) | {"imported": "Marian"})
    with pytest.raises(ValueError, match=r"holds an imported model \(Marian\).* new folder"):
        check_folder(run)


def test_a_run_begins_where_a_killed_process_left_its_files(tmp_path):
    (tmp_path / "config.json.unfinished").write_text("{")
    (tmp_path / ".lock").touch()
    (tmp_path / "vocabulary").mkdir()
    (tmp_path / "vocabulary" / "of other data").touch()
    check_folder(Run(tmp_path))
    begin(Run(tmp_path), Experiment(), learned_tokenizer())
    assert Run(tmp_path).experiment().flat() == Experiment().flat()
    assert Run(tmp_path).vocabulary().size == 400
    assert not list(tmp_path.glob("**/of other data"))


@pytest.fixture
def start(copied, monkeypatch):
    """A function that starts training at a step on a machine; returns what config.json records."""

    def start(step, processor):
        found = {"processor": processor, "cores": 2, "memory_gib": 24}
        found |= {"accelerators": [], "machines": 1}
        monkeypatch.setattr(run_start, "this_hardware", lambda *_: found)
        record_hardware(copied, step)
        hardware = read_json(copied.config_file)["hardware"]
        return [(each["from_step"], each["processor"]) for each in hardware]

    return start


def test_a_run_lists_the_machines_it_was_trained_on(copied, start):
    before = read_json(copied.config_file)
    assert start(0, "A") == [(0, "A")]
    assert start(0, "B") == [(0, "B")], "A was killed before its first checkpoint"
    assert start(400, "B") == [(0, "B")], "resumed on the same machine"
    assert start(800, "C") == [(0, "B"), (800, "C")]
    assert start(900, "B") == [(0, "B"), (800, "C"), (900, "B")]
    assert start(850, "C") == [(0, "B"), (800, "C")], "the newest checkpoint was damaged"
    after = read_json(copied.config_file)
    assert {name: after[name] for name in after if name != "hardware"} == before
    page = copied.report().read_text()
    assert "2 cores of B, 24 GiB" in page and "from step 801 on: 2 cores of C" in page


def test_nothing_is_written_if_nothing_is_new(copied, start):
    start(0, "A")
    before = copied.config_file.stat()
    start(400, "A")
    assert copied.config_file.stat() == before
