"""A compiled model is saved with everything that training needs to go on."""

import keras
import numpy as np
import pytest
from support.models.eager_steps import without_graphs
from support.models.helpers import TINY, array, ids, pairs

from t2t_keras import (
    LabelSmoothedCrossEntropy,
    Perplexity,
    Transformer,
    TransformerConfig,
    TransformerSchedule,
)
from t2t_keras.training.optimizers import Adam, named_optimizer
from t2t_keras.training.step.compile_options import dropout_seeds

INPUTS, LABELS = pairs(), ids(3, 6, [6, 6, 3], seed=3)
ON_TENSORFLOW = keras.backend.backend() == "tensorflow"


def compiled(freeze=(), **options):
    keras.utils.set_random_seed(1)
    model = Transformer(TransformerConfig(**{**TINY, "num_layers": 1}, dropout=0.3))
    for name in freeze:
        getattr(model, name).trainable = False
    loss = LabelSmoothedCrossEntropy(0.2)
    options = {"metrics": [Perplexity()], "run_eagerly": ON_TENSORFLOW} | options
    model.compile(Adam(TransformerSchedule(16, 10), beta_2=0.98, epsilon=1e-9), loss, **options)
    return model


def train(model, steps):
    with without_graphs():
        for _ in range(steps):
            model.train_on_batch(INPUTS, LABELS)


def saved_and_loaded(model, folder):
    model.optimizer.build(model.trainable_variables)
    model.save(folder / "model.keras")
    keras.utils.set_random_seed(2)
    return keras.saving.load_model(folder / "model.keras")


def assert_same_state(model, expected):
    states = [[*each.variables, *each.optimizer.variables] for each in (model, expected)]
    for ours, theirs in zip(*states, strict=True):
        values = keras.ops.convert_to_numpy(ours), keras.ops.convert_to_numpy(theirs)
        np.testing.assert_array_equal(*values, err_msg=ours.path)


@pytest.mark.long
def test_training_continues_from_a_file_as_if_it_had_not_stopped(tmp_path):
    """With dropout, whose seeds Keras does not save by itself."""
    options = {"accumulate": 2, "clip_norm": 1.0, "r_drop": 2.0}
    options = options if ON_TENSORFLOW else {}
    model = compiled(**options)
    train(model, 1)
    loaded = saved_and_loaded(model, tmp_path)
    assert loaded.loss.label_smoothing == 0.2
    assert isinstance(loaded.optimizer, Adam)
    assert loaded.get_compile_config() == model.get_compile_config()
    assert {name: getattr(loaded, name) for name in options} == options
    assert_same_state(loaded, model)
    train(model, 1)
    train(loaded, 1)
    assert int(loaded.optimizer.iterations) == 2
    assert_same_state(loaded, model)


@pytest.mark.skipif(not ON_TENSORFLOW, reason="the options are those of the step on TensorFlow")
def test_wrong_options_are_refused():
    model = compiled(clip_norm=0)
    assert model.clip_norm is None, "no limit, as in TrainingConfig"
    for options in (
        *({"clip_norm": wrong} for wrong in (-1.0, float("nan"), float("inf"), "1", True)),
        *({"accumulate": 0}, {"r_drop": -1}, {"jit_compile": "yes"}),
    ):
        (name,) = options
        with pytest.raises(ValueError, match=f"`{name}` must be .* Received: {name}="):
            model.compile("sgd", LabelSmoothedCrossEntropy(), **options)


def test_a_model_that_was_not_trained_is_saved_with_its_seeds_and_weights_without_decay(tmp_path):
    model = compiled()
    model.compile(named_optimizer("adamw", 1e-3, "weight_decay=0.5", model), model.loss)
    model.save(tmp_path / "model.keras")
    keras.utils.set_random_seed(2)
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    for seed, expected in zip(dropout_seeds(loaded), dropout_seeds(model), strict=True):
        np.testing.assert_array_equal(array(seed), array(expected))
    assert not loaded.optimizer.built
    decayed = [loaded.optimizer._use_weight_decay(weight) for weight in loaded.trainable_variables]
    assert decayed == [len(weight.shape) > 1 for weight in model.trainable_variables]
    assert loaded.get_compile_config() == model.get_compile_config()


def test_frozen_layers_stay_frozen(tmp_path):
    model = compiled(freeze=["encoder"])
    loaded = saved_and_loaded(model, tmp_path)
    assert not loaded.encoder.trainable and loaded.decoder.trainable
    paths = [[v.path for v in each.trainable_variables] for each in (loaded, model)]
    assert paths[0] == paths[1]


@pytest.mark.jax
def test_the_adam_of_a_file_from_tensorflow_exists_on_every_backend():
    config = {
        "module": "t2t_keras.training.adam",
        "class_name": "Adam",
        "config": {"learning_rate": 0.5},
        "registered_name": "t2t_keras>Adam",
    }
    assert type(keras.saving.deserialize_keras_object(config)) is Adam


@pytest.mark.jax
@pytest.mark.skipif(ON_TENSORFLOW, reason="on TensorFlow, they have an effect")
def test_options_that_only_tensorflow_has_are_refused_elsewhere():
    options = {"accumulate": 2, "clip_norm": 1.0}
    with pytest.raises(ValueError, match=r"only on TensorFlow.*gradient_acc.*on jax"):
        compiled(**options)
    model = compiled()
    with pytest.warns(UserWarning, match="not compiled. Its weights are complete"):
        model.compile_from_config({**model.get_compile_config(), **options})
