"""Training that recomputes the blocks takes the same steps with less memory."""

import keras
import numpy as np
import pytest
from support.models.helpers import TINY, pairs
from support.models.rival_models import rival

from t2t_keras import LabelSmoothedCrossEntropy, TransformerConfig
from t2t_keras.layers.stack import Stack
from t2t_keras.training.trainable_models import Adam, TrainableTransformer, trainable

ON_TENSORFLOW = keras.config.backend() == "tensorflow"


def trained(recompute, dtype=None, steps=2, options=None, **settings):
    """Returns the losses and the weights after a few steps with dropout."""
    keras.utils.set_random_seed(1)
    settings = {**TINY, "dropout": 0.3, "attention_dropout": 0.2, **settings}
    model = TrainableTransformer(TransformerConfig(**settings), dtype=dtype)
    model.compile(Adam(0.01), LabelSmoothedCrossEntropy(), recompute=recompute, **(options or {}))
    inputs, labels = pairs(), pairs(seed=7)["target"]
    losses = [float(model.train_on_batch(inputs, labels)) for _ in range(steps)]
    return losses, model.get_weights()


def check_same(ulps=0, **settings):
    (expected_losses, expected), (losses, weights) = (
        trained(recompute, **settings) for recompute in (False, True)
    )
    assert losses[0] != losses[1]
    if ulps == 0:
        assert losses == expected_losses
    np.testing.assert_allclose(losses, expected_losses, rtol=ulps * 2**-23)
    for ours, theirs in zip(weights, expected, strict=True):
        if ulps:
            np.testing.assert_allclose(ours, theirs, atol=2e-5)
        else:
            np.testing.assert_array_equal(ours, theirs)


def test_losses_and_weights_are_the_same_to_the_bit_with_dropout():
    check_same(num_layers=1)


@pytest.mark.long
@pytest.mark.one_backend
@pytest.mark.parametrize(
    ("dtype", "options", "ulps"),
    [
        ("mixed_bfloat16", {}, 0),
        (None, {"accumulate": 2, "r_drop": 1.0}, 0),
        (None, {"jit_compile": True}, 8),
    ],
)
def test_with_other_options(dtype, options, ulps):
    check_same(ulps, dtype=dtype, options=options, positions="t5")


def test_a_saved_model_recomputes_and_a_model_without_blocks_is_refused(tmp_path):
    model = TrainableTransformer(TransformerConfig(**TINY))
    model.compile(Adam(0.01), LabelSmoothedCrossEntropy(), recompute=True)
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
