import numpy as np
import pytest
from helpers import array, check_layer, disturbed, gradients, vectors
from keras import ops

from t2t_keras.layers import (
    LocalSelfAttention,
    local_attention,
    local_mask,
    scaled_dot_product_attention,
)


def local(neighbourhood, **settings):
    layer = LocalSelfAttention(2, 8, neighbourhood, d_k=3, d_v=5, **settings)
    layer.build((None, None, 8))
    return disturbed(layer)


@pytest.mark.parametrize(
    ("neighbourhood", "length"), [(1, 7), (2, 9), (5, 1), (5, 32), (16, 32), (33, 77), (200, 32)]
)
@pytest.mark.parametrize("causal", [False, True])
def test_it_equals_the_masked_form(neighbourhood, length, causal):
    layer, x = local(neighbourhood, causal=causal), ops.array(vectors(2, length, 8))
    masked = layer.attention(x, mask=local_mask(length, neighbourhood, causal))
    np.testing.assert_allclose(array(layer(x)), array(masked), atol=1e-5)


def test_it_equals_the_masked_form_where_there_is_padding():
    layer, x = local(5), ops.array(vectors(2, 20, 8))
    padding = np.arange(20) < np.array([[20], [6]])
    both = array(local_mask(20, 5)).astype(bool) & padding[:, None, :]
    masked = array(layer.attention(x, mask=both))
    found = array(layer(x, mask=padding))
    np.testing.assert_allclose(found, masked, atol=1e-5)
    assert (found[1, 8:] == 0).all()  # nothing real within reach


def test_gradients_equal_those_of_the_masked_form():
    layer, x = local(7), ops.array(vectors(2, 30, 8))
    mask = local_mask(30, 7)
    blocked = gradients(layer, lambda: ops.sum(layer(x) ** 2))
    masked = gradients(layer, lambda: ops.sum(layer.attention(x, mask=mask) ** 2))
    for a, b in zip(blocked, masked, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3, rtol=1e-4)


def test_contract(tmp_path):
    settings = {"num_heads": 2, "d_model": 8, "neighbourhood": 3, "causal": True, "dropout": 0.1}
    check_layer(LocalSelfAttention, settings, [vectors(2, 9, 8)], 4, tmp_path)


def test_no_array_of_n_by_n_is_made():
    """The largest array inside grows with n as n does, not as its square."""
    import keras

    sizes = {}
    for length in (1024, 2048):
        layer, x = local(65), ops.zeros((1, length, 8))
        if keras.backend.backend() == "jax":
            import jax

            shapes = [v.aval.shape for e in jax.make_jaxpr(layer)(x).eqns for v in e.outvars]
        else:
            import tensorflow as tf

            graph = tf.function(layer).get_concrete_function(x).graph
            shapes = [t.shape for op in graph.get_operations() for t in op.outputs]
        sizes[length] = max(np.prod(shape) for shape in shapes)
    assert sizes[2048] <= 2.1 * sizes[1024]


def test_a_short_sequence_is_not_filled_up_to_a_long_neighbourhood(monkeypatch):
    blocks = []

    def watched(queries, *rest):
        blocks.append(queries.shape[-2])
        return scaled_dot_product_attention(queries, *rest)

    monkeypatch.setattr(local_attention, "scaled_dot_product_attention", watched)
    local(2001)(ops.array(vectors(1, 10, 8)))
    assert blocks == [10]


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match=r"`neighbourhood` must be .* Received: neighbourhood=0"):
        local(0)
