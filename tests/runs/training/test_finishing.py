"""The end of a training: averages, scores and exports, also if it was reached before."""

import os
import shutil
import types

import numpy as np
import pytest
from support.runs.finished_run import weights_of
from support.runs.untrained import save_checkpoint

from pipelines.atomic_files import read_json, write_json
from t2t_keras.evaluation.held_out import Example, TranslationResults
from t2t_keras.runs import Run, train
from t2t_keras.runs.exports import exporting
from t2t_keras.runs.training import train as training


@pytest.fixture
def finish(toy_run, empty_exports, tmp_path):
    """A function that finishes a copy of the run, which has an export."""
    run = Run(shutil.copytree(toy_run[1], tmp_path / "run"))
    run.export()
    run.export(format="litert")

    def finish(step=4, held_out=(), export=True, early=False):
        lines = []
        stopping = types.SimpleNamespace(reason="no lower loss in 3 evaluations")
        trainer = types.SimpleNamespace(
            step=step, held_out=held_out, stopped_early=early, early_stopping=stopping
        )
        version = training.finish(run, trainer, export, lines.append)
        return version, lines

    finish.exported = lambda number, litert: [
        f"{run.folder}/export_litert/{litert}: model for LiteRT, which translates on CPUs",
        f"{run.folder}/export/{number}: SavedModel with text in and text out",
    ]
    finish.run, finish.nothing = (
        run,
        (None, [f"{run.folder} is already trained to its last step, 4"]),
    )
    return finish


@pytest.fixture
def trained_by(monkeypatch):
    """A function that calls `train` on a run, with a function in place of the trainer's steps."""

    def trained(run, take_steps, step):
        trainer = types.SimpleNamespace(
            train=take_steps, stopped_early=False, is_chief=True, step=step, held_out=()
        )
        monkeypatch.setattr(training, "make_trainer", lambda *arguments: trainer)
        lines = []
        train(run.experiment(), run.folder, show=lines.append)
        return lines

    return trained


def test_a_run_that_early_stopping_ended_says_how_to_train_on(finish):
    finish()
    assert finish(early=True)[1] == [
        f"{finish.run.folder} ended at step 4: no lower loss in 3 evaluations. To train on, "
        "increase training.patience"
    ]


def test_the_times_of_files_decide_nothing(finish):
    os.utime(finish.run.averaged_weights, (0, 0))
    for step in (2, 4):
        os.utime(finish.run.checkpoints.path(step), (2e9, 2e9))
    assert finish() == finish.nothing


def test_averages_that_the_user_made_are_kept_and_exported(finish):
    run = finish.run
    run.average(last=1)
    before = run.averaged_weights.read_bytes()
    assert finish(export=False) == finish.nothing
    version = run.folder / "export" / "2"
    assert finish() == (version, finish.exported(2, 2))
    assert run.averaged_weights.read_bytes() == before
    assert read_json(version / "config.json")["export"]["weights"]["steps"] == [4]
    assert finish() == finish.nothing


def test_missing_averages_are_made(finish):
    run = finish.run
    expected = weights_of(run, "averaged")
    run.averaged_weights.unlink()
    lines = [f"{run.averaged_weights}: mean of the checkpoints of steps 2, 4"]
    assert finish() == (run.folder / "export" / "2", [*lines, *finish.exported(2, 2)])
    for ours, theirs in zip(weights_of(run, "averaged"), expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_lost_checkpoint_is_reported_when_the_others_are_averaged(finish, caplog):
    run = finish.run
    run.averaged_weights.unlink()
    run.checkpoints.path(2).unlink()
    lines = finish(export=False)[1]
    assert lines == [f"{run.averaged_weights}: mean of the checkpoints of steps 4"]
    assert f"{run.checkpoints.path(2)} is missing" in caplog.text


def test_a_run_stopped_while_it_is_exported_is_exported_by_the_next_start(finish, monkeypatch):
    run = finish.run
    shutil.rmtree(run.folder / "export")
    before = run.averaged_weights.read_bytes()
    with monkeypatch.context() as patches:
        patches.setattr(exporting, "save_text_model", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            finish()
    assert finish() == (run.folder / "export" / "1", finish.exported(1, 2)[1:])
    assert run.averaged_weights.read_bytes() == before


def raise_interrupt(*arguments, **options):
    raise KeyboardInterrupt


def test_earlier_averages_are_replaced_although_training_was_stopped_before(finish, trained_by):
    run = finish.run
    run.average(last=1)

    def take_steps():
        save_checkpoint(run, 6)
        return "SIGTERM was received"

    assert trained_by(run, take_steps, 6) == []
    lines = [f"{run.averaged_weights}: mean of the checkpoints of steps 2, 4, 6"]
    assert finish(step=6, export=False) == (None, lines)


def test_a_search_that_was_changed_is_exported(finish):
    settings = read_json(finish.run.config_file)
    settings["experiment"]["search"]["beam"] = 3
    write_json(finish.run.config_file, settings)
    assert finish()[0] == finish.run.folder / "export" / "2"
    assert finish() == finish.nothing


def held_out_set(reference, bleu, name=""):
    """Returns a held-out set of one pair, with an invented BLEU."""

    def translate():
        examples = [Example("a source", "a reference", "an output")]
        return TranslationResults({"bleu": bleu, "bleu_signature": "invented"}, examples)

    return types.SimpleNamespace(
        name=name, sources=["a"], references=[reference], translate=translate, tag=None
    )


def test_the_averaged_weights_are_scored_once(finish):
    held_out = held_out_set("b", 12.5)
    score = ["BLEU 12.5 (invented)", "  source     a source"]
    lines = finish(held_out=[held_out])[1]
    assert lines[:2] == score, "the record has the score of a different text"
    assert finish(held_out=[held_out]) == finish.nothing
    record = finish.run.averaged.record()
    assert (record["steps"], record["bleu"]["score"]) == ([2, 4], 12.5)
    held_out.references = ["c"]
    assert finish(held_out=[held_out])[1][:2] == score


def test_each_named_set_is_scored_once(finish):
    general, mine = held_out_set("b", 12.5, "general"), held_out_set("c", 25.0, "mine")
    unnamed = finish.run.averaged.record()["bleu"]
    lines = finish(held_out=[general, mine])[1]
    assert (lines[0], lines[4]) == (
        "BLEU 12.5 on general (invented)",
        "BLEU 25.0 on mine (invented)",
    )
    assert finish(held_out=[mine, general]) == finish.nothing
    mine.references = ["d"]
    lines = finish(held_out=[general, mine])[1]
    assert [line for line in lines if "BLEU" in line] == ["BLEU 25.0 on mine (invented)"]
    record = finish.run.averaged.record()
    scores = {name: each["score"] for name, each in record["bleu_by_set"].items()}
    assert scores == {"general": 12.5, "mine": 25.0} and record["bleu"] == unnamed
