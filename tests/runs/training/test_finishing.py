"""The end of a training: averages, scores and exports, also if it was reached before."""

import os
import shutil
import types

import pytest
from support.runs.untrained import save_checkpoint

from pipelines.atomic_files import read_json, write_json
from t2t_keras.evaluation.held_out import Example, TranslationResults
from t2t_keras.runs.exports import writers
from t2t_keras.runs.training.finishing import Compared, FinalWeights, best_of, finish, sample


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


def test_missing_averages_are_made_of_the_checkpoints_that_are_there(finished):
    finished.averaged_weights.unlink()
    finished.checkpoints.path(2).unlink()
    lines = [f"{finished.averaged_weights}: mean of the checkpoints of steps 4"]
    assert ended(finished) == (finished.folder / "export" / "2", lines + exports(finished, 2, 2))


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
        patches.setattr(writers, "save_text_model", interrupted)
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
        name=name, digest=reference, translate=translate, tag=None, sources=["a"]
    )


def test_the_weights_are_scored_once_on_each_held_out_set(finished):
    unnamed, named = held_out_set("b", 12.5), held_out_set("c", 25.0, "mine")
    lines = ended(finished, held_out=[unnamed, named])[1]
    assert lines[:2] == ["BLEU 12.5 (invented)", "  source     a source"]
    assert lines[4] == "BLEU 25.0 on mine (invented)"
    assert ended(finished, held_out=[named, unnamed]) == nothing(finished)
    named.digest, other = "d", held_out_set("e", 30.0, "other")
    lines = ended(finished, held_out=[unnamed, named, other])[1]
    assert [line for line in lines if "BLEU" in line] == [
        "BLEU 25.0 on mine (invented)",
        "BLEU 30.0 on other (invented)",
    ]
    record = finished.averaged.record()
    scores = {name: each["score"] for name, each in record["bleu"].items()}
    assert scores == {"": 12.5, "mine": 25.0, "other": 30.0}


REFERENCES = [
    f"The {word} sleeps in the {place} ." for word in "abcdefghijklmnopqrst" for place in "uvwxyz"
]
WORSE = [f"{line[:-1]}and is tired of it ." for line in REFERENCES]


def compared_set(name=""):
    return types.SimpleNamespace(name=name, tag=None, sources=REFERENCES, references=REFERENCES)


@pytest.fixture
def outputs(monkeypatch):
    """The translations of a run by weights, as a dict that the test fills."""
    outputs = {}

    def translator(final, weights, tag):
        lines = dict(zip(REFERENCES, outputs[weights], strict=True))
        return types.SimpleNamespace(translate=lambda texts: [lines[text] for text in texts])

    monkeypatch.setattr(FinalWeights, "translator", translator)
    return outputs


@pytest.fixture
def averaged(copied):
    """A run with averaged weights of the steps 2, 4 (the best) and 6, nothing compared."""
    copied.averaged.add(copied.averaged.digest(), steps=[2, 4, 6])
    return copied


def chosen(run, *held_out):
    lines = []
    FinalWeights(run, held_out).choose_if_missing(lines.append)
    return lines


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([("6", 31.0, 0.2), ("4", 29.0, 0.001)], "averaged"),
        ([("6", 31.0, 0.049), ("4", 30.5, 0.001)], "6"),
        ([("6", 31.0, 0.05), ("4", 30.5, 0.01)], "4"),
        ([], "averaged"),
    ],
)
def test_the_averaged_weights_stay_unless_others_are_significantly_better(others, expected):
    rows = [Compared("averaged", "averaged", 30.0, None)]
    rows += [Compared("other", *each) for each in others]
    assert best_of(rows).weights == expected


def test_a_large_set_is_compared_on_lines_from_all_of_it():
    assert sample(list(range(999))) == list(range(999))
    lines = sample(list(range(2500)))
    assert len(set(lines)) == 1000 and (lines[0], lines[-1]) == (0, 2497)


def test_weights_better_than_the_averaged_ones_are_the_default_until_replaced(averaged, outputs):
    outputs |= {"averaged": WORSE, "6": REFERENCES, "4": WORSE}
    (line,) = chosen(averaged, compared_set())
    assert line == (
        "BLEU on 120 held-out lines: averaged 43.4, newest (step 6) 100.0 (p = 0.001), "
        "best (step 4) 43.4 (p = 1.000). Chosen: newest"
    )
    assert averaged.default_weights() == "6" and averaged.weights_steps() == [6]
    assert averaged.weights_file() == averaged.checkpoints.path(6)
    assert averaged.averaged.record()["compared_on"] == {"set": "", "lines": 120}
    assert chosen(averaged, compared_set()) == [], "it is chosen once"
    averaged.average(last=2)
    assert averaged.default_weights() == "averaged"
    outputs |= {"averaged": REFERENCES, "6": WORSE}
    (line,) = chosen(averaged, compared_set("mine"))
    assert line.startswith("BLEU on 120 held-out lines of mine: averaged 100.0, newest (step 6)")
    assert line.endswith("Chosen: averaged") and averaged.default_weights() == "averaged"


def test_nothing_is_compared_without_need(averaged, outputs):
    assert chosen(averaged) == [], "no held-out text"
    few = compared_set()
    few.sources, few.references = REFERENCES[:99], REFERENCES[:99]
    assert chosen(averaged, few) == [], "too little held-out text"
    averaged.average(last=1)
    assert chosen(averaged, compared_set()) == [], "the mean of one checkpoint is that checkpoint"


def test_always_averaging_compares_nothing_and_ends_a_former_choice(averaged, outputs, monkeypatch):
    outputs |= {"averaged": WORSE, "6": REFERENCES, "4": WORSE}
    chosen(averaged, compared_set())
    experiment = averaged.experiment()
    experiment.training.average = "always"
    monkeypatch.setattr(averaged, "experiment", lambda: experiment)
    assert chosen(averaged, compared_set()) == ["Chosen: averaged (training.average)"]
    assert averaged.default_weights() == "averaged"
    assert chosen(averaged, compared_set()) == []


def test_chosen_weights_that_are_lost_are_named(averaged):
    averaged.averaged.add(averaged.averaged.digest(), chosen="6")
    averaged.checkpoints.path(6).unlink()
    assert averaged.default_weights() == "averaged", "training has gone on from step 4"
    for step in (2, 4):
        averaged.checkpoints.path(step).unlink()
    with pytest.raises(ValueError, match=r"step 6, which were better .* give --weights=averaged"):
        averaged.weights_file()
    assert averaged.weights_file("averaged") == averaged.averaged_weights
