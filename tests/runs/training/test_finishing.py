"""The end of a training: averages, scores and exports, also if it was reached before."""

import os
import shutil
import types

import pytest
from support.runs.untrained import save_checkpoint

from pipelines.atomic_files import read_json, write_json
from t2t_keras.evaluation.held_out import Example, TranslationResults
from t2t_keras.runs.exports import saved_model
from t2t_keras.runs.training.finishing import finish


def ended(run, step=4, held_out=(), export=True, early=False):
    """Finishes a run; returns the folder of its SavedModel, if it is new, and the lines shown."""
    lines = []
    stopping = types.SimpleNamespace(reason="no lower loss in 3 evaluations")
    trainer = types.SimpleNamespace(
        step=step, held_out=held_out, stopped_early=early, early_stopping=stopping
    )
    return finish(run, trainer, export, lines.append), lines


def nothing(run):
    return None, [f"{run.folder} is already trained to its last step, 4"]


def exports(run, number, litert=None):
    """Returns the lines about exports with some numbers."""
    lines = [f"{run.folder}/export/{number}: SavedModel with text in and text out"]
    if litert:
        line = f"{run.folder}/export_litert/{litert}: model for LiteRT, which translates on CPUs"
        lines.insert(0, line)
    return lines


def test_a_finished_run_is_left_as_it_is_whatever_the_times_of_its_files(finished):
    os.utime(finished.averaged_weights, (0, 0))
    for step in (2, 4):
        os.utime(finished.checkpoints.path(step), (2e9, 2e9))
    assert ended(finished) == nothing(finished)
    assert ended(finished, early=True)[1] == [
        f"{finished.folder} ended at step 4: no lower loss in 3 evaluations. To train on, "
        "increase training.patience"
    ]


def test_averages_that_the_user_made_are_kept_and_exported(finished):
    finished.average(last=1)
    before = finished.averaged_weights.read_bytes()
    assert ended(finished, export=False) == nothing(finished)
    version = finished.folder / "export" / "2"
    assert ended(finished) == (version, exports(finished, 2, 2))
    assert finished.averaged_weights.read_bytes() == before
    assert read_json(version / "export.json")["weights"]["steps"] == [4]
    assert ended(finished) == nothing(finished)


def test_missing_averages_are_made_and_a_lost_checkpoint_is_reported(finished, caplog):
    finished.averaged_weights.unlink()
    finished.checkpoints.path(2).unlink()
    lines = [f"{finished.averaged_weights}: mean of the checkpoints of steps 4"]
    version = finished.folder / "export" / "2"
    assert ended(finished) == (version, lines + exports(finished, 2, 2))
    assert f"{finished.checkpoints.path(2)} is missing" in caplog.text


def test_averages_of_earlier_checkpoints_are_replaced(finished, caplog):
    save_checkpoint(finished, 6)
    lines = [f"{finished.averaged_weights}: mean of the checkpoints of steps 2, 4, 6"]
    assert ended(finished, step=6, export=False) == (None, lines)
    assert not caplog.text


def test_a_run_stopped_while_it_is_exported_is_exported_by_the_next_start(finished, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    shutil.rmtree(finished.folder / "export")
    with monkeypatch.context() as patches:
        patches.setattr(saved_model, "save_text_model", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ended(finished)
    assert ended(finished) == (finished.folder / "export" / "1", exports(finished, 1))


def test_a_search_that_was_changed_is_exported(finished):
    settings = read_json(finished.config_file)
    settings["experiment"]["search"]["beam"] = 3
    write_json(finished.config_file, settings)
    assert ended(finished)[0] == finished.folder / "export" / "2"
    assert ended(finished) == nothing(finished)


def held_out_set(reference, bleu, name=""):
    """Returns a held-out set of one pair, with an invented BLEU."""

    def translate():
        examples = [Example("a source", "a reference", "an output")]
        return TranslationResults({"bleu": bleu, "bleu_signature": "invented"}, examples)

    return types.SimpleNamespace(
        name=name, sources=["a"], references=[reference], translate=translate, tag=None
    )


def test_the_weights_are_scored_once_on_each_held_out_set(finished):
    unnamed, named = held_out_set("b", 12.5), held_out_set("c", 25.0, "mine")
    lines = ended(finished, held_out=[unnamed, named])[1]
    assert lines[:2] == ["BLEU 12.5 (invented)", "  source     a source"]
    assert lines[4] == "BLEU 25.0 on mine (invented)"
    assert ended(finished, held_out=[named, unnamed]) == nothing(finished)
    named.references, other = ["d"], held_out_set("e", 30.0, "other")
    lines = ended(finished, held_out=[unnamed, named, other])[1]
    assert [line for line in lines if "BLEU" in line] == [
        "BLEU 25.0 on mine (invented)",
        "BLEU 30.0 on other (invented)",
    ]
    record = finished.averaged.record()
    scores = {name: each["score"] for name, each in record["bleu_by_set"].items()}
    assert scores == {"mine": 25.0, "other": 30.0} and record["bleu"]["score"] == 12.5
