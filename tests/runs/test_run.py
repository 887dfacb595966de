import dataclasses
import json
import shutil

import keras
import numpy as np
import pytest
from support.runs.untrained import QUICK, save_checkpoint

from pipelines.atomic_files import only_one, read_json, write_json
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer, save_tokenizer
from t2t_keras.experiment import Experiment
from t2t_keras.runs import Run
from t2t_keras.runs.training.run_start import begin, join


def weights_of(model):
    return [weight.numpy() for weight in model.weights]


def weights_in_checkpoint(run, step):
    state, _ = run.checkpoints.load(step)
    arrays = [state[name] for name in sorted(state)]
    return [array for array in arrays if array.dtype == "float32"]  # without random seeds


def assert_equal(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one, other)


# Weights


def test_default_weights_are_the_averaged_ones_or_else_the_newest_step(copied):
    assert copied.default_weights() == "averaged"
    assert copied.weights_file() == copied.averaged_weights
    copied.averaged_weights.unlink()
    assert copied.default_weights() == "6"
    assert copied.weights_file() == copied.checkpoints.path(6)
    shutil.rmtree(copied.checkpoints.folder)
    with pytest.raises(ValueError, match="has no weights yet: its first checkpoint is to come"):
        copied.weights_file()


@pytest.mark.parametrize(("weights", "step"), [("newest", 6), ("best", 4), ("2", 2), (2, 2)])
def test_a_checkpoint_is_named_by_its_step_or_as_newest_or_best(copied, weights, step):
    assert copied.weights_file(weights) == copied.checkpoints.path(step)


def test_unknown_weights_are_answered_with_those_that_exist(copied, run):
    with pytest.raises(
        ValueError, match=r"no weights '3'. It has: 2, 4, 6, newest, best, averaged"
    ):
        copied.weights_file("3")
    with pytest.raises(ValueError, match=r"no weights 'newest'. It has: averaged"):
        run.weights_file("newest")
    copied.averaged_weights.unlink()
    shutil.rmtree(copied.checkpoints.folder)
    with pytest.raises(ValueError, match=r"no weights 'best'. It has: none yet"):
        copied.weights_file("best")


def test_lost_averaged_weights_are_noticed(copied):
    copied.average(last=2)
    copied.averaged_weights.unlink()
    with pytest.raises(ValueError, match=r"averaged.weights.h5 is missing, .* Run t2t-average"):
        copied.model()
    assert_equal(weights_of(copied.model("newest")), weights_in_checkpoint(copied, 6))


def test_the_model_has_the_weights_that_are_asked_for(copied):
    assert_equal(weights_of(copied.model("4")), weights_in_checkpoint(copied, 4))
    assert_equal(weights_of(copied.model("newest")), weights_in_checkpoint(copied, 6))
    assert_equal(weights_of(copied.model()), weights_of(copied.model("averaged")))


def test_average_writes_the_mean_of_the_last_checkpoints(copied):
    assert copied.average(last=2) == [4, 6]
    means = [
        np.mean(arrays, axis=0)
        for arrays in zip(*(weights_in_checkpoint(copied, step) for step in (4, 6)), strict=True)
    ]
    for ours, mean in zip(weights_of(copied.model("averaged")), means, strict=True):
        np.testing.assert_allclose(ours, mean, rtol=1e-6)
    message = r"has 3 checkpoints in a row \(steps: 2, 4, 6\)\. Received: last=9\. Average fewer"
    with pytest.raises(ValueError, match=message):
        copied.average(last=9)


def test_averaging_that_fails_leaves_the_old_averaged_weights(copied, monkeypatch):
    before = copied.averaged_weights.read_bytes()

    def fail_halfway(model, path):
        path.write_bytes(b"half")
        raise OSError("no space left")

    monkeypatch.setattr(keras.Model, "save", fail_halfway)
    with pytest.raises(OSError, match="no space left"):
        copied.average(last=2)
    assert copied.averaged_weights.read_bytes() == before
    assert not list(copied.folder.glob("*unfinished*"))


def test_two_processes_do_not_average_at_once(copied):
    with (
        only_one(copied.checkpoints.folder),
        pytest.raises(ValueError, match="is in use by process"),
    ):
        Run(copied.folder).average(last=2)


def test_an_old_best_checkpoint_is_not_averaged(copied):
    copied.checkpoints.path(6).unlink()
    save_checkpoint(copied, 8)
    save_checkpoint(copied, 10)
    copied.checkpoints.path(8).unlink()
    assert copied.checkpoints.steps() == [2, 4, 10] and copied.latest_steps() == [10]
    assert copied.average(last=1) == [10]
    with pytest.raises(ValueError, match=r"has 1 checkpoints in a row \(steps: 10\)"):
        copied.average(last=2)


@pytest.mark.long
def test_translations_are_those_of_the_newest_averaged_weights(copied):
    texts = ["The dog sleeps.", "The cat sleeps."]
    first, engine = copied.translate(texts, **QUICK), copied.engine(**QUICK)
    copied.average(last=2)
    assert copied.translate(texts, **QUICK) != first
    assert copied.engine(**QUICK) is not engine


# The run's beginning


def test_a_new_run_has_its_settings_and_vocabulary(tmp_path, vocabulary):
    run = Run(tmp_path / "new" / "run")
    experiment = Experiment()
    experiment.model.vocab_size = 400
    experiment.training.steps = 7
    begin(run, experiment, vocabulary, ["t2t-train", "--run=run"])
    assert run.experiment().flat() == experiment.flat()
    assert json.loads(run.config_file.read_text())["command"] == ["t2t-train", "--run=run"]
    assert run.tokenizer().size == 400
    assert run.evaluations() == []


def test_a_run_may_be_resumed_with_settings_of_another_kind(copied, vocabulary):
    experiment = copied.experiment()
    experiment.training.steps, experiment.search.beam = 77, 3
    begin(copied, experiment, vocabulary)
    join(copied, experiment, vocabulary)
    assert copied.experiment().flat() == experiment.flat()


@pytest.mark.parametrize(
    ("part", "name", "value", "message"),
    [
        ("model", "d_ff", 32, r"was started with model.d_ff=16.* Received: 32"),
        ("model", "positions", "learned", "was started with model.positions='sinusoidal'"),
        ("training", "seed", 3, r"was started with training.seed=1.* Received: 3"),
    ],
)
def test_the_model_and_the_seed_of_a_run_are_fixed(copied, vocabulary, part, name, value, message):
    before, experiment = copied.config_file.read_bytes(), copied.experiment()
    settings = dataclasses.replace(getattr(experiment, part), **{name: value})
    experiment = dataclasses.replace(experiment, **{part: settings})
    for check in (begin, join):
        with pytest.raises(ValueError, match=message):
            check(copied, experiment, vocabulary)
    assert copied.config_file.read_bytes() == before


def test_the_vocabulary_of_a_run_is_fixed(copied, tmp_path):
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other")
    for check in (begin, join):
        with pytest.raises(ValueError, match="was started with a different vocabulary"):
            check(copied, copied.experiment(), tmp_path / "other")


def test_a_folder_with_other_things_is_refused_and_left_as_it_is(tmp_path, vocabulary):
    (tmp_path / "thesis.tex").write_text("years of work")
    run = Run(tmp_path)
    with pytest.raises(ValueError, match=r"is not a run: it has no .* other files \(thesis.tex\)"):
        begin(run, Experiment(), vocabulary)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_run_begins_where_a_killed_process_left_unfinished_files(tmp_path, vocabulary):
    (tmp_path / "vocabulary").mkdir()
    (tmp_path / "vocabulary.0a1b.unfinished").mkdir()
    (tmp_path / "config.json.unfinished").write_text("{")
    (tmp_path / ".lock").touch()
    shutil.copytree(vocabulary, tmp_path / "vocabulary", dirs_exist_ok=True)
    begin(Run(tmp_path), Experiment(), vocabulary)
    assert Run(tmp_path).experiment().flat() == Experiment().flat()
    assert not list(tmp_path.glob("*.unfinished"))


def test_another_machine_joins_only_where_it_sees_the_folder(tmp_path, vocabulary):
    with pytest.raises(ValueError, match=r"not visible here. All machines need the same folder"):
        join(Run(tmp_path), Experiment(), vocabulary)


def test_a_run_is_trained_by_one_process_at_a_time(copied):
    with (
        copied.locked(),
        pytest.raises(ValueError, match="is in use by process"),
        Run(copied.folder).locked(),
    ):
        pass


@pytest.mark.parametrize("name", ["checkpoints", "metrics.jsonl", "unfinished.weights.h5"])
def test_a_run_with_a_link_that_leads_outside_is_not_written_to(copied, vocabulary, tmp_path, name):
    outside = tmp_path / "outside"
    outside.write_text("mine")
    shutil.rmtree(copied.folder / name, ignore_errors=True)
    (copied.folder / name).symlink_to(outside)
    calls = (
        lambda: begin(copied, copied.experiment(), vocabulary),
        lambda: copied.average(last=1),
        copied.export,
    )
    for call in calls:
        with pytest.raises(ValueError, match=rf"{name} is a link that leads outside"):
            call()
    assert outside.read_text() == "mine"


# Reading a run


@pytest.mark.long
@pytest.mark.parametrize("change", [{"vocab_size": 10**12}, {"num_layers": 50}, {"d_ff": 10**13}])
def test_a_model_that_its_weights_file_cannot_contain_is_not_allocated(copied, change):
    settings = json.loads(copied.config_file.read_text())
    settings["experiment"]["model"] |= change
    del settings["checksum"]
    copied.config_file.write_text(json.dumps(settings))
    for weights in ("averaged", "newest"):
        with pytest.raises(ValueError, match=r"config.json describes a model of .* has only"):
            copied.model(weights)


def test_a_model_with_a_smaller_vocabulary_than_the_runs_is_refused(copied):
    settings = json.loads(copied.config_file.read_text())
    settings["experiment"]["model"]["vocab_size"] = 300
    del settings["checksum"]
    copied.config_file.write_text(json.dumps(settings))
    with pytest.raises(ValueError, match=r"vocab_size=300, but the run's vocabulary has 400"):
        copied.model()


def test_a_folder_without_settings_is_not_a_run(tmp_path):
    for call in (Run(tmp_path).experiment, Run(tmp_path).evaluations, Run(tmp_path).export):
        with pytest.raises(ValueError, match=r"is not a run: it has no config.json. t2t-train"):
            call()


def test_evaluations_are_the_whole_lines_of_the_metrics_file(copied):
    assert copied.evaluations() == []
    with pytest.raises(ValueError, match=r"no evaluation .* yet. The first comes after 1,000"):
        copied.evaluations(required=True)
    (copied.folder / "metrics.jsonl").write_text('{"step": 2, "loss": 1.5}\n{"step": 4, "lo')
    assert copied.evaluations(required=True) == [{"step": 2, "loss": 1.5}]


def test_a_run_records_how_its_data_was_prepared(copied, tmp_path, vocabulary):
    assert copied.prepared_with("leaves") is None, "it learned the toy grammar"
    experiment = copied.experiment()
    experiment.data.folder = str(tmp_path / "data")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "preparation.json").write_text('{"leaves": ["tag", 3]}')
    begin(copied, experiment, vocabulary)
    (tmp_path / "data").rename(tmp_path / "moved")
    assert copied.prepared_with("leaves") == ["tag", 3]
    assert copied.prepared_with("other") is None


def test_a_run_of_an_older_version_needs_its_data_to_know(copied, tmp_path):
    settings = read_json(copied.config_file)
    del settings["preparation"]
    settings["experiment"]["data"]["folder"] = str(tmp_path / "data")
    write_json(copied.config_file, settings)
    assert copied.prepared_with("leaves") is None
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "preparation.json").write_text('{"leaves": ["tag", 3]}')
    assert copied.prepared_with("leaves") == ["tag", 3]
