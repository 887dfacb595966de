"""Optimizers by name: they train, resume bit for bit, and their options are checked."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.models.eager_steps import without_graphs
from support.models.helpers import TINY, ids, pairs
from support.processes.commands import ROOT
from support.runs.small_training import assert_same_bits

from t2t_keras.experiment import Experiment
from t2t_keras.losses import LOSSES
from t2t_keras.schedules import SCHEDULES
from t2t_keras.training.checkpoints import Checkpoints, check_fits, restore, state_of
from t2t_keras.training.optimizers import OPTIMIZERS, named_optimizer, optimizer_options
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

PAGE = ROOT / "t2t_keras/training/how_to_change_the_loss_or_optimizer.md"


INPUTS, LABELS = pairs(), ids(3, 6, [6, 6, 3], seed=3)


def compiled_model(**settings):
    keras.utils.set_random_seed(1)
    experiment = Experiment(
        model=TransformerConfig(**{**TINY, "num_layers": 1, "positions": "learned"}),
        training=TrainingConfig(warmup_steps=2, **settings),
    )
    model = experiment.compiled_model()
    model.run_eagerly = True
    model.optimizer.build(model.trainable_variables)
    return model


@pytest.fixture(autouse=True)
def eager_steps():
    with without_graphs():
        yield


@pytest.fixture(scope="module")
def model():
    return compiled_model()


def train(model, steps):
    losses = []
    for _ in range(steps):
        model.reset_metrics()
        losses.append(float(model.train_step((INPUTS, LABELS))["loss"]))
    return losses


@pytest.mark.long
@pytest.mark.parametrize("name", ["adafactor", "muon"])
def test_a_resumed_run_has_the_same_bits(name):
    settings = {"optimizer": name, "clip_norm": 0.1, "learning_rate": 0.1}
    model = compiled_model(**settings)
    losses = train(model, 1)
    saved = state_of(model)
    losses += train(model, 2)
    assert losses[2] < losses[0]
    expected = state_of(model)
    restore(model, saved)
    assert train(model, 2) == losses[1:]
    assert_same_bits(state_of(model), expected)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adam", "beta_1=0.8,beta_2=0.7,epsilon=1e-5,amsgrad=true"),
        ("adamw", "weight_decay=0.5,beta_1=0.8,beta_2=0.7,epsilon=1e-5,amsgrad=true"),
        ("adafactor", "weight_decay=0.5,beta_2_decay=-0.6,epsilon_1=1e-20,epsilon_2=0.01"),
        ("adafactor", "clip_threshold=2.5"),
        ("lion", "weight_decay=0.5,beta_1=0.8,beta_2=0.7"),
        ("muon", "weight_decay=0.5,momentum=0.9,nesterov=false,ns_steps=4,rms_rate=0.3"),
        ("muon", "adam_weight_decay=0.6,adam_beta_1=0.8,adam_beta_2=0.7,adam_lr_ratio=2.5"),
    ],
)
def test_every_option_reaches_the_optimizer(model, name, text):
    config, options = (
        named_optimizer(name, 0.1, text, model).get_config(),
        optimizer_options(name, text),
    )
    assert {option: config[option] for option in options} == options


def test_muon_leaves_embeddings_positions_and_vectors_to_adam():
    model = compiled_model(optimizer="muon")
    velocities = model.optimizer.adam_velocities
    by_adam = {
        weight.path.partition("/")[2]
        for weight, velocity in zip(model.trainable_variables, velocities, strict=True)
        if velocity is not None
    }
    matrices = {path for path in by_adam if not path.endswith(("gamma", "beta", "bias"))}
    assert matrices == {"embedding/matrix", "source_positions/table", "target_positions/table"}


@pytest.mark.parametrize("name", ["muon", "adamw"])
def test_weight_decay_shrinks_matrices_only(name):
    """With a gradient of 0, only the decay changes the weights."""
    options = "weight_decay=0.5" + (",adam_weight_decay=0.5" if name == "muon" else "")
    model = compiled_model(optimizer=name, optimizer_options=options, learning_rate=0.5)
    weights = model.trainable_variables
    before = [weight.numpy() for weight in weights]
    rate = float(model.optimizer.learning_rate)
    model.optimizer.apply([tf.zeros_like(weight) for weight in weights], weights)
    for weight, old in zip(weights, before, strict=True):
        share = rate * 0.5 if old.ndim > 1 else 0.0
        np.testing.assert_allclose(weight.numpy(), old * (1 - share), rtol=1e-5)


def test_a_checkpoint_fits_only_the_options_that_made_it(tmp_path):
    model = compiled_model()
    checkpoints = Checkpoints(tmp_path)
    checkpoints.save(1, state_of(model), {})
    shapes = checkpoints.shapes(1)
    assert shapes == {name: array.shape for name, array in state_of(model).items()}
    message = r"belongs to an optimizer with different options \(training.optimizer_options\)"
    check_fits(compiled_model(optimizer_options="beta_2=0.99"), shapes)
    other = compiled_model(optimizer="adamw", optimizer_options="amsgrad=true")
    with pytest.raises(ValueError, match=rf"optimizer/.* missing in the checkpoint.*{message}"):
        check_fits(other, shapes)
    with pytest.raises(ValueError, match=rf"optimizer/.* missing in the model.*{message}"):
        restore(model, state_of(other))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("adm", "", r"`optimizer` must be one of 'adam', 'adamw', .*did you mean 'adam'"),
        ("adam", "weight_decay=0.1", "`optimizer_options` has no option 'weight_decay'"),
        ("adamw", "wieght_decay=0.1", r"no option 'wieght_decay' \(did you mean 'weight_decay'"),
        ("adamw", "weight_decay=-1", "`optimizer_options: weight_decay` must be a number of at"),
        ("adam", "beta_1=1", "`optimizer_options: beta_1` must be .* at least 0 and below"),
        ("adam", "epsilon=0", "`optimizer_options: epsilon` must be a positive number"),
        ("muon", "ns_steps=2.5", "`optimizer_options: ns_steps` must be a whole number"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_created(name, options, message):
    with pytest.raises(ValueError, match=message):
        optimizer_options(name, options)
    with pytest.raises(ValueError, match=message):
        TrainingConfig(optimizer=name, optimizer_options=options).validate()


@pytest.fixture
def how_to():
    """The names that the plug-ins of the how-to page define, and their numbers of lines."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)[:2]
    tables, names = (LOSSES, OPTIMIZERS, SCHEDULES), {}
    before = [dict(table) for table in tables]
    for block in blocks:
        exec(block, names)
    yield names, [len(block.splitlines()) for block in blocks]
    for table, entries in zip(tables, before, strict=True):
        table.clear()
        table.update(entries)


def test_the_plug_ins_of_the_how_to_page_train(how_to):
    _, lines = how_to
    assert max(lines) <= 20
    model = compiled_model(
        **{"loss": "focal", "loss_options": "gamma=1", "optimizer": "sgd", "schedule": "cosine"},
        **{"optimizer_options": "momentum=0.5", "learning_rate": 0.5, "steps": 20},
    )
    assert (model.loss.loss.gamma, model.optimizer.momentum) == (1, 0.5)
    rates = [float(model.optimizer._learning_rate(step)) for step in (1, 2, 11, 20)]
    assert rates == pytest.approx([0.25, 0.5, 0.25, 0.0])
    losses = train(model, 3)
    assert losses[2] < losses[0]
    with pytest.raises(ValueError, match="`optimizer_options` has no option 'momentun'"):
        TrainingConfig(optimizer="sgd", optimizer_options="momentun=1").validate()
    with pytest.raises(ValueError, match=r"`schedule_options` has no option 'ende'.*'end'"):
        TrainingConfig(schedule="cosine", schedule_options="ende=1").validate()


def test_a_plug_in_that_returns_something_else_is_named(how_to, model):
    OPTIMIZERS["none"] = lambda schedule: None
    OPTIMIZERS["keras"] = keras.optimizers.RMSprop
    SCHEDULES["number"] = lambda learning_rate: learning_rate
    with pytest.raises(ValueError, match=r"`OPTIMIZERS\['none'\]` must be a function of"):
        named_optimizer("none", 0.1, "", model)
    assert named_optimizer("keras", 0.1, "rho=0.5", model).rho == 0.5
    with pytest.raises(ValueError, match=r"`optimizer_options`: .*rhoo.*Received"):
        named_optimizer("keras", 0.1, "rhoo=0.5", model)
    with pytest.raises(ValueError, match=r"`SCHEDULES\['number'\]` must be a function that"):
        TrainingConfig(schedule="number").validate()
