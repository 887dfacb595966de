"""A run's folder at the beginning of a training, new or resumed."""

import dataclasses
import logging
import shutil

import pytest
from support.runs.untrained import tiny_experiment

from pipelines.atomic_files import read_json, write_json
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer, save_tokenizer
from t2t_keras.experiment import Experiment
from t2t_keras.runs import Run
from t2t_keras.runs.training.run_start import begin, join, moved_text_named, unchanged_on_error


@pytest.fixture
def begun(tmp_path, vocabulary):
    """A run that has begun, and its experiment."""
    folder = tmp_path / "data"
    folder.mkdir()
    write_json(folder / "preparation.json", {"leaves": ["tag", 3], "languages": ["en", "fr"]})
    run, experiment = Run(tmp_path / "new" / "run"), tiny_experiment(folder=str(folder))
    begin(run, experiment, vocabulary, ["t2t-train", "--data=data"])
    return run, experiment


def test_each_change_of_a_resumed_run_is_logged(begun, vocabulary, tmp_path, caplog):
    run, experiment = begun
    before, moved = experiment.data.folder, str(tmp_path / "moved")
    experiment.training.steps, experiment.data.folder = 9, moved
    with caplog.at_level(logging.INFO, logger="absl"):
        begin(run, experiment, vocabulary, ["t2t-train"])
    changes = ["training.steps: 1700 -> 9", f"data.folder: {before!r} -> {moved!r}"]
    assert sorted(caplog.messages) == sorted(changes)
    join(run, experiment, vocabulary)
    assert run.experiment() == experiment and run.vocabulary().size == 400
    config = read_json(run.config_file)
    assert config["command"] == ["t2t-train"]
    assert config["languages"] == ["en", "fr"], "the moved data does not record them"
    assert run.prepared_with("leaves") is None


def test_a_run_that_is_resumed_unchanged_keeps_the_command_that_made_its_settings(
    begun, vocabulary, caplog
):
    run, experiment = begun
    config = read_json(run.config_file)
    write_json(run.config_file, config | {"hardware": [1], "init": "a", "base": {"hub": "b"}})
    with caplog.at_level(logging.INFO, logger="absl"):
        begin(run, experiment, vocabulary, ["t2t-train", "--run=x"])
    assert not caplog.messages
    found = read_json(run.config_file)
    assert run.prepared_with("leaves") == found["preparation"]["leaves"] == ["tag", 3]
    assert found["command"] == ["t2t-train", "--data=data"]
    assert (found["hardware"], found["init"], found["base"]) == ([1], "a", {"hub": "b"})


def test_the_model_and_the_vocabulary_of_a_run_are_fixed(begun, vocabulary, tmp_path):
    run, experiment = begun
    before = run.config_file.read_bytes()
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other")
    model = dataclasses.replace(experiment.model, d_ff=32)
    changed = dataclasses.replace(experiment, model=model)
    for check in (begin, join):
        with pytest.raises(ValueError, match=r"was started with model.d_ff=.* Received: 32"):
            check(run, changed, vocabulary)
        with pytest.raises(ValueError, match="was started with a different vocabulary"):
            check(run, experiment, tmp_path / "other")
    assert run.config_file.read_bytes() == before


def test_another_machines_run_must_be_visible_and_an_imported_one_is_not_resumed(begun, vocabulary):
    run, experiment = begun
    with pytest.raises(ValueError, match=r"not visible here. All machines need the same folder"):
        join(Run(run.folder / "none"), experiment, vocabulary)
    write_json(run.config_file, read_json(run.config_file) | {"imported": "Marian"})
    with pytest.raises(ValueError, match=r"holds an imported model \(Marian\).* new folder"):
        begin(run, experiment, vocabulary)


def test_a_run_begins_where_a_killed_process_left_unfinished_files(tmp_path, vocabulary):
    (tmp_path / "vocabulary.0a1b.unfinished").mkdir()
    (tmp_path / "config.json.unfinished").write_text("{")
    (tmp_path / ".lock").touch()
    shutil.copytree(vocabulary, tmp_path / "vocabulary")
    begin(Run(tmp_path), Experiment(), vocabulary)
    assert Run(tmp_path).experiment().flat() == Experiment().flat()
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_run_with_a_link_that_leads_outside_is_not_written_to(copied, vocabulary, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    shutil.rmtree(copied.checkpoints.folder)
    copied.checkpoints.folder.symlink_to(outside)
    calls = (
        lambda: begin(copied, copied.experiment(), vocabulary),
        lambda: copied.average(last=1),
        copied.export,
    )
    for call in calls:
        with pytest.raises(ValueError, match="checkpoints is a link that leads outside"):
            call()
    assert not list(outside.iterdir())


def test_an_error_restores_a_run_but_not_what_other_commands_wrote(begun, vocabulary, tmp_path):
    run, experiment = begun
    before = run.config_file.read_bytes()
    experiment.training.steps = 9
    for each in (run, Run(tmp_path / "another")):
        with pytest.raises(ValueError, match="mistake"), unchanged_on_error(each):
            begin(each, experiment, vocabulary)
            (each.folder / "report.html").touch()
            raise ValueError("mistake")
    assert run.config_file.read_bytes() == before and run.vocabulary().size == 400
    assert (run.folder / "report.html").exists()
    assert [path.name for path in each.folder.iterdir()] == ["report.html"]


def test_text_that_is_not_at_its_recorded_place_is_reported_with_the_flag(begun, tmp_path):
    run, experiment = begun

    def raised(run):
        with pytest.raises(ValueError) as error, moved_text_named(run, experiment, "--data"):
            raise ValueError("nothing here")
        return str(error.value)

    message = raised(run)
    assert message.startswith("nothing here. ") and message.endswith("now, give --data")
    experiment.data.folder = "given"
    assert raised(run) == raised(Run(tmp_path / "new")) == "nothing here"
