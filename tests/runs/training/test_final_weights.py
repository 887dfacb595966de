"""Which weights a finished run translates with."""

import types

import pytest

from t2t_keras.runs.training.final_weights import FinalWeights, sample
from t2t_keras.runs.training.weights_comparison import Compared, best_of

REFERENCES = [
    f"The {word} sleeps in the {place} ." for word in "abcdefghijklmnopqrst" for place in "uvwxyz"
]
WORSE = [f"{line[:-1]}and is tired of it ." for line in REFERENCES]


def held_out(name=""):
    return types.SimpleNamespace(
        name=name, tag=None, sources=REFERENCES, references=REFERENCES, translate=None
    )


@pytest.fixture
def outputs(monkeypatch):
    """The translations of a run by weights, as a dict that the test fills."""
    outputs, loaded = {}, []
    monkeypatch.setattr(FinalWeights, "model", None)
    monkeypatch.setattr(FinalWeights, "load", lambda final, weights: loaded.append(weights))

    def best(texts):
        lines = dict(zip(REFERENCES, outputs[loaded[-1]], strict=True))
        return [lines[text] for text in texts]

    translator = types.SimpleNamespace(translate=best)
    monkeypatch.setattr(FinalWeights, "search", lambda final, tag: translator)
    return outputs


@pytest.fixture
def averaged(copied):
    """A run with averaged weights of the steps 2, 4 (the best) and 6, nothing compared."""
    copied.averaged.add(copied.averaged.digest(), steps=[2, 4, 6])
    return copied


def chosen(run, *held_out):
    lines = []
    compared = FinalWeights(run, held_out).choose_if_missing(lines.append)
    assert compared == bool(lines)
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


def test_better_weights_than_the_averaged_ones_are_the_default_until_they_are_replaced(
    averaged, outputs
):
    outputs |= {"averaged": WORSE, "6": REFERENCES, "4": WORSE}
    (line,) = chosen(averaged, held_out())
    assert line == (
        "BLEU on 120 held-out lines: averaged 43.4, newest (step 6) 100.0 (p = 0.001), "
        "best (step 4) 43.4 (p = 1.000). Chosen: newest"
    )
    assert averaged.default_weights() == "6" and averaged.weights_steps() == [6]
    assert averaged.weights_file() == averaged.checkpoints.path(6)
    assert averaged.averaged.record()["compared_on"] == {"set": "", "lines": 120}
    assert chosen(averaged, held_out()) == [], "it is chosen once"
    averaged.average(last=2)
    assert averaged.default_weights() == "averaged"
    outputs |= {"averaged": REFERENCES, "6": WORSE}
    (line,) = chosen(averaged, held_out("mine"))
    assert line.startswith("BLEU on 120 held-out lines of mine: averaged 100.0, newest (step 6)")
    assert line.endswith("Chosen: averaged") and averaged.default_weights() == "averaged"


def test_nothing_is_compared_without_need(averaged, outputs):
    assert chosen(averaged) == [], "no held-out text"
    few = held_out()
    few.sources, few.references = REFERENCES[:99], REFERENCES[:99]
    assert chosen(averaged, few) == [], "too little held-out text"
    averaged.average(last=1)
    assert chosen(averaged, held_out()) == [], "the mean of one checkpoint is that checkpoint"


def test_always_averaging_compares_nothing_and_ends_an_earlier_choice(
    averaged, outputs, monkeypatch
):
    outputs |= {"averaged": WORSE, "6": REFERENCES, "4": WORSE}
    chosen(averaged, held_out())
    experiment = averaged.experiment()
    experiment.training.average = "always"
    monkeypatch.setattr(averaged, "experiment", lambda: experiment)
    assert chosen(averaged, held_out()) == ["Chosen: averaged (training.average)"]
    assert averaged.default_weights() == "averaged"
    assert chosen(averaged, held_out()) == []


def test_a_damaged_best_checkpoint_takes_no_part(averaged, monkeypatch, caplog):
    averaged.checkpoints.path(4).write_bytes(b"damaged")
    translator = types.SimpleNamespace(translate=list)
    monkeypatch.setattr(FinalWeights, "search", lambda final, tag: translator)
    (line,) = chosen(averaged, held_out())
    assert "newest" in line and "best" not in line
    assert "step-00000004.npz is damaged" in caplog.text


def test_chosen_weights_that_are_lost_are_named(averaged):
    averaged.averaged.add(averaged.averaged.digest(), chosen="6")
    averaged.checkpoints.path(6).unlink()
    assert averaged.default_weights() == "averaged", "training has gone on from step 4"
    for step in (2, 4):
        averaged.checkpoints.path(step).unlink()
    with pytest.raises(ValueError, match=r"step 6, which were better .* give --weights=averaged"):
        averaged.weights_file()
    assert averaged.weights_file("averaged") == averaged.averaged_weights
