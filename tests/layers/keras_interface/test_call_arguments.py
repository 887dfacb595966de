"""`MultiHeadAttention` is called like `keras.layers.MultiHeadAttention`, and computes the same."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, vectors

from t2t_keras.layers import LocalSelfAttention, MultiHeadAttention, Residual


@pytest.fixture(scope="module")
def both():
    """Our layer and Keras', with the same weights."""
    ours = MultiHeadAttention(num_heads=2, d_model=8, d_k=3, d_v=5, use_bias=True)
    theirs = keras.layers.MultiHeadAttention(num_heads=2, key_dim=3, value_dim=5)
    shape = (None, None, 8)
    ours.build(shape)
    theirs.build(shape, shape)
    random = np.random.default_rng(0)
    for weight, other in zip(ours.weights, theirs.weights, strict=True):
        weight.assign(random.normal(size=weight.shape))
        other.assign(ops.reshape(weight, other.shape))
    return ours, theirs


QUERY, VALUE, KEY = (vectors(2, length, 8, seed=length) for length in (5, 4, 6))
LONGER = vectors(2, 6, 8, seed=9)
SEEN = np.tri(5, 4, 1, dtype=bool)  # every query sees a key; Keras' answer for others is a mean


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        ((QUERY, QUERY), {}),
        ((QUERY, LONGER, KEY), {}),
        ((), {"query": QUERY, "value": LONGER, "key": KEY}),
        ((QUERY, VALUE), {"attention_mask": SEEN}),
        ((QUERY, VALUE), {"attention_mask": SEEN[None, :1].repeat(2, 0)}),
        ((QUERY, VALUE), {"attention_mask": SEEN[None, None].astype("int32")}),
        ((QUERY, VALUE), {"value_mask": np.array([[1, 1, 1, 0], [1, 0, 0, 0]], bool)}),
    ],
)
def test_a_call_equals_keras(both, args, kwargs, causal):
    kwargs |= {"use_causal_mask": causal, "return_attention_scores": True}
    for ours, theirs in zip(*(layer(*args, **kwargs) for layer in both), strict=True):
        np.testing.assert_allclose(array(ours), array(theirs), atol=1e-5)


def test_keras_masks_are_combined_with_the_attention_mask(both):
    """Compares real queries only; our layer also computes the outputs of padding."""
    embedding = keras.layers.Embedding(10, 8, mask_zero=True)
    short, long = np.array([[3, 4, 0], [5, 6, 7]]), np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 0]])
    seen = np.array([[1, 0, 1, 1, 1], [1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], bool)
    for given in ((), ("key",), ("attention_mask",)):
        outputs = []
        for layer in both:  # with new masks, because Keras' layer removes those of its inputs
            x, memory = embedding(short), embedding(long)
            options = {"key": memory, "attention_mask": seen}
            # For the outputs alone, Keras on JAX fails with masks of both sequences.
            options = {name: options[name] for name in given}
            y, _ = layer(x, memory, **options, return_attention_scores=True)
            outputs.append(array(y)[short > 0])
        np.testing.assert_allclose(*outputs, atol=1e-5)


@pytest.mark.parametrize(
    ("layer_class", "settings"),
    [(MultiHeadAttention, {}), (LocalSelfAttention, {"neighbourhood": 3})],
)
def test_use_causal_mask_equals_causal_in_every_form(layer_class, settings):
    causal, layer = (layer_class(2, 8, causal=each, **settings) for each in (True, False))
    expected = causal(QUERY, return_attention_scores=True)
    layer.build(QUERY.shape)
    layer.set_weights(causal.get_weights())
    for each in (layer, Residual(layer, residual=False, layer_norm=False, dropout=0.0)):
        outputs = each(QUERY, use_causal_mask=True, return_attention_scores=True)
        for ours, theirs in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(array(ours), array(theirs), atol=1e-6)
    blocks = array(layer(QUERY, use_causal_mask=True))
    np.testing.assert_allclose(blocks, array(expected[0]), atol=1e-6)
