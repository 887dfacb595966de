"""Training that recomputes the blocks takes the same steps with less memory."""

import keras
import numpy as np
import pytest
from support.models.helpers import TINY, pairs
from support.models.rival_models import rival

from t2t_keras import LabelSmoothedCrossEntropy, TransformerConfig
from t2t_keras.layers.stack import Stack
from t2t_keras.training.step.trainable_models import Adam, TrainableTransformer, trainable


def trained(recompute, dtype=None, steps=2, options=None, **settings):
    """Returns the losses of a few steps with dropout, and the weights after each of them."""
    keras.utils.set_random_seed(1)
    settings = {**TINY, "dropout": 0.3, "attention_dropout": 0.2, **settings}
    model = TrainableTransformer(TransformerConfig(**settings), dtype=dtype)
    model.compile(Adam(0.01), LabelSmoothedCrossEntropy(), recompute=recompute, **(options or {}))
    inputs, labels = pairs(), pairs(seed=7)["target"]
    losses, weights = [], []
    for _ in range(steps):
        losses.append(float(model.train_on_batch(inputs, labels)))
        weights.append(model.get_weights())
    return losses, *weights


@pytest.fixture
def sums_in_order():
    """TensorFlow does not reorder the terms of sums whose parts no gradient needs."""
    import tensorflow as tf

    tf.config.optimizer.set_experimental_options({"arithmetic_optimization": False})
    yield
    tf.config.optimizer.set_experimental_options({"arithmetic_optimization": True})


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "exact"),
    [
        ({"dtype": "mixed_bfloat16", "options": {"accumulate": 2, "r_drop": 1.0}}, True),
        ({"options": {"jit_compile": True}}, False),
    ],
    ids=["parts", "XLA"],
)
def test_losses_and_weights_are_the_same_with_dropout(settings, exact, sums_in_order):
    (expected_losses, *expected), (losses, *weights) = (
        trained(recompute, **settings, num_layers=1, positions="t5") for recompute in (False, True)
    )
    assert losses[0] != losses[1]
    np.testing.assert_allclose(losses, expected_losses, rtol=0 if exact else 1e-6)
    for each in zip(weights, expected, strict=True):
        for ours, theirs in zip(*each, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=0 if exact else 1e-4)


@pytest.mark.long
@pytest.mark.jax
def test_a_saved_model_recomputes_and_a_model_without_blocks_is_refused(tmp_path):
    model = TrainableTransformer(TransformerConfig(**TINY))
    model.compile(Adam(0.01), LabelSmoothedCrossEntropy(), recompute=True)
    model.optimizer.build(model.trainable_variables)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    stacks = [layer for layer in loaded.layers if isinstance(layer, Stack)]
    assert len(stacks) == 2 and all(stack.call_in_training is not None for stack in stacks)
    loaded.compile(Adam(0.01), LabelSmoothedCrossEntropy())
    assert all(stack.call_in_training is None for stack in stacks)
    with pytest.raises(ValueError, match="`recompute` must be True or False"):
        loaded.compile(Adam(0.01), LabelSmoothedCrossEntropy(), recompute="yes")
    plain = rival("gnmt")
    model = trainable(type(plain))(plain.config)
    with pytest.raises(ValueError, match="`recompute` must be False for a GNMT"):
        model.compile(Adam(0.01), LabelSmoothedCrossEntropy(), recompute=True)
