"""States that layers update in training, such as the means of batch normalization."""

import keras
import numpy as np
import pytest
from support.models.eager_steps import without_graphs
from support.models.helpers import TINY, ids, pairs

from t2t_keras import LabelSmoothedCrossEntropy, Transformer, TransformerConfig
from t2t_keras.layers import DecoderBlock, EncoderBlock
from t2t_keras.layers.decoder import BLOCKS

INPUTS, LABELS = pairs(), ids(3, 6, [6, 6, 3], seed=3)


class NormalizedBlock(EncoderBlock):
    """Normalizes its inputs over the batch, and counts its calls in training."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.normalization = keras.layers.BatchNormalization(momentum=0.5)
        self.calls = keras.metrics.Sum(name="calls")

    def build(self, shape):
        super().build(shape)
        self.normalization.build(shape)

    def call(self, x, mask=None, return_weights=False, training=None):
        if training:
            self.calls.update_state(1.0)
        x = self.normalization(x, training=training)
        return super().call(x, mask=mask, return_weights=return_weights)


def new_model():
    keras.utils.set_random_seed(1)
    settings = {**TINY, "num_layers": 1, "block": "normalized", "dropout": 0.0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BLOCKS, "normalized", (NormalizedBlock, DecoderBlock))
        return Transformer(TransformerConfig(**settings))


def states_of(model):
    """Returns mean, variance and number of calls."""
    block = model.encoder.blocks[0]
    return [v.numpy() for v in block.normalization.non_trainable_variables + block.calls.variables]


def states_after_calls(*batches):
    model = new_model()
    for inputs in batches:
        model(inputs, training=True)
    return states_of(model)


def rows(start, end):
    return {name: each[start:end] for name, each in INPUTS.items()}


def check_states(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.long
def test_states_are_those_of_a_call_for_each_part():
    model = new_model()
    options = {"accumulate": 2, "run_eagerly": True}
    model.compile(keras.optimizers.SGD(0.0), LabelSmoothedCrossEntropy(), **options)
    with without_graphs():
        model.train_step((INPUTS, LABELS))
    found = states_of(model)
    assert abs(found[0]).max() > 0.01
    check_states(found, states_after_calls(rows(0, 2), rows(2, 3)))


@pytest.mark.long
def test_replicas_have_the_mean_of_their_states(replicas):
    """Their checkpoint has the states of one of them."""
    with replicas.scope():
        model = new_model()
        model.compile(keras.optimizers.SGD(0.0), LabelSmoothedCrossEntropy())
    model.fit(rows(0, 2), LABELS[:2], batch_size=2, verbose=0)
    one, other = states_after_calls(rows(0, 1)), states_after_calls(rows(1, 2))
    mean, variance, _ = (np.add(*both) / 2 for both in zip(one, other, strict=True))
    check_states(states_of(model), [mean, variance, 2])
