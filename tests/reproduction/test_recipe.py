"""Recipes: the paper's settings, reductions, and the differences that a table names."""

import dataclasses

import pytest
from support.runs.untrained import toy_tokenizer

from t2t_keras.reproduction import Plan
from t2t_keras.reproduction.recipe import (
    differences,
    first_recipe,
    operations_of_step,
    reduced_recipe,
    shorten,
)
from t2t_keras.training.training_config import TrainingConfig


def test_a_shorter_training_keeps_its_highest_learning_rate_and_its_share_of_averaged_steps():
    training = TrainingConfig(steps=300_000)
    highest = training.learning_rate * training.warmup_steps**-0.5
    shorten(training, 3000, checkpoints=504)
    assert (training.steps, training.warmup_steps, training.checkpoint_every) == (3000, 40, 5)
    assert training.learning_rate * training.warmup_steps**-0.5 == pytest.approx(highest)
    training = TrainingConfig(steps=14_000, schedule="inverse_sqrt", learning_rate=1.5e-3)
    shorten(training, 1400)
    assert (training.warmup_steps, training.learning_rate) == (400, 1.5e-3)


def test_a_plan_without_reductions_has_the_papers_settings_and_always_averages():
    recipe = reduced_recipe(Plan("table2"), "wmt14_ende:base")
    assert differences(recipe.paper, recipe.experiment).keys() == {"training.average"}
    assert recipe.train_flags() == ["--config=wmt14_ende:base", "--config.training.average=always"]
    assert recipe.prepare_flags() == ["--config=base"]
    assert recipe.reductions(recipe.experiment) == []


def test_overrides_are_applied_after_all_other_reductions():
    overrides = {"model.d_ff": 100, "training.warmup_steps": 7, "data.vocabulary.size": 400}
    plan = Plan("table2", divide=8, divide_layers=3, steps=1000, overrides=overrides)
    recipe = reduced_recipe(plan, "wmt14_ende:base", keep=9)
    model, training = recipe.experiment.model, recipe.experiment.training
    assert (model.d_model, model.d_ff, model.num_layers) == (64, 100, 2)
    assert (training.steps, training.warmup_steps, training.keep) == (1000, 7, 9)
    assert "--config.model.d_ff=100" in recipe.train_flags()
    assert recipe.prepare_flags() == ["--config=base", "--config.data.vocabulary.size=400"]


def test_reductions_name_relevant_differences_of_the_run_and_of_the_search():
    plan = Plan("table2", divide=8, overrides={"search.beam": 2})
    recipe = reduced_recipe(plan, "wmt14_ende:base", keep=9)
    trained = dataclasses.replace(recipe.experiment, search=recipe.paper.search)
    assert recipe.reductions(trained) == [
        "model.d_model 64 (paper 512)",
        "model.d_ff 256 (paper 2,048)",
        "search.beam 2 (paper 4)",
    ]


def test_the_first_training_keeps_its_own_settings_and_its_share_of_the_steps():
    overrides = {"model.d_ff": 100, "training.learning_rate": 1e-4, "data.batches.max_length": 9}
    flags = {"reduced": "small_treebank", "divide": 2, "overrides": overrides}
    plan = Plan("table4", steps=1200, first="small_treebank:short", **flags)
    recipe = reduced_recipe(plan, "parsing")
    first = first_recipe(plan, recipe)
    model, training = first.experiment.model, first.experiment.training
    assert (model.d_model, model.d_ff, model.dropout) == (64, 100, 0.1)
    assert (training.steps, training.warmup_steps, training.learning_rate) == (120, 30, 2e-3)
    assert first.experiment.data.batches.max_length == 63
    assert first.train_flags()[0] == "--config=small_treebank:short"
    assert "--config.model.d_model=64" in first.train_flags()
    flags = recipe.train_flags(init="first")
    assert "--init=first" in flags and not any("model.d_" in flag for flag in flags)
    assert "--config.training.learning_rate=0.0001" in flags
    assert first_recipe(Plan("table4"), recipe) is None
    with pytest.raises(
        ValueError, match=r"--first must name .*parsing has a different model\.d_ff"
    ):
        first_recipe(dataclasses.replace(plan, first="parsing"), recipe)
    with pytest.raises(ValueError, match=r"--first must name .* Received: gnmt, a 'gnmt'"):
        first_recipe(dataclasses.replace(plan, first="gnmt"), recipe)


def test_rows_of_equal_operations_train_for_as_many_steps_as_they_can_afford():
    steps, flags = {}, []
    for row, reduced in (("wmt14_ende:base", "multi30k"), ("gnmt", "gnmt:multi30k")):
        recipe = reduced_recipe(Plan("table2", operations=1e14), row, reduced=reduced)
        steps[reduced] = recipe.experiment.training.steps
        cost = operations_of_step(recipe.experiment)
        assert cost * (steps[reduced] - 1) < 1e14 <= cost * steps[reduced]
        assert recipe.train_flags()[0] == f"--config={reduced}"
        flags.append(recipe.prepare_flags())
    assert flags[0] == flags[1], "the rows share one text"
    assert steps["multi30k"] != steps["gnmt:multi30k"]


def test_equal_operations_count_the_vocabulary_of_prepared_data(tmp_path):
    def steps(data):
        plan = Plan("table2", operations=1e14, data=data)
        return reduced_recipe(plan, "wmt14_ende:base", reduced="multi30k").experiment.training.steps

    toy_tokenizer(tmp_path / "vocabulary")
    assert steps(tmp_path) > 1.1 * steps(None)
