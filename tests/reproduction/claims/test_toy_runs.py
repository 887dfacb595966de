"""Variants: what changes, and which settings of the plan apply to all of them."""

from unittest import mock

from t2t_keras.experiment import differences, load_experiment
from t2t_keras.models import architecture_of
from t2t_keras.reproduction import Plan
from t2t_keras.reproduction.claims.toy_runs import ToyRuns, curve, last


def test_overrides_apply_to_all_variants_but_leave_their_difference():
    runs = ToyRuns(Plan("claims", steps=40, overrides={"model.num_heads": 2, "model.d_ff": 8}))
    plain, changed = (runs.recipe(changes).experiment for changes in ({}, {"model.num_heads": 4}))
    assert (plain.model.num_heads, plain.model.d_ff) == (2, 8)
    assert differences(plain, changed) == {"model.num_heads": (2, 4)}
    assert (plain.training.steps, plain.training.warmup_steps) == (40, 8)
    assert plain.training.evaluate_every == 4


def test_a_model_of_another_kind_has_the_text_and_the_training_of_the_others():
    runs = ToyRuns(Plan("claims", steps=40, overrides={"model.num_heads": 2}))
    ours = runs.recipe({})
    theirs = runs.recipe({"model.num_layers": 4}, "gnmt:multi30k")
    assert architecture_of(theirs.experiment.model) == "gnmt"
    assert theirs.experiment.model.num_layers == 4
    assert theirs.experiment.model.d_model == load_experiment("gnmt:multi30k").model.d_model
    for part in ("training", "data"):
        assert getattr(theirs.experiment, part) == getattr(ours.experiment, part)
    same_config = runs.recipe({}, "claims").experiment.model
    assert (ours.experiment.model.num_heads, same_config.num_heads) == (2, 8), "no overrides"
    flags = theirs.train_flags()
    assert flags[0] == "--config=gnmt:multi30k"
    assert "--config.training.steps=40" in flags


def test_a_training_that_diverged_has_no_perplexity():
    class Diverged:
        def evaluations(self, required):
            return [{"step": 1, "perplexity": 5.0}, {"step": 2, "perplexity": None}]

    assert last(Diverged(), "perplexity") != last(Diverged(), "perplexity"), "NaN"


def test_a_curve_has_a_score_of_zero_but_no_missing_values():
    run = mock.Mock()
    run.evaluations.return_value = [
        {"step": 1, "bleu": 0.0},
        {"step": 2, "bleu": None},
        {"step": 3},
        {"step": 4, "bleu": 5.0},
    ]
    assert curve(run, "bleu") == {1: 0.0, 4: 5.0}
