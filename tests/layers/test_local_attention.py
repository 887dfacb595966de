import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, disturbed, gradients, vectors

from t2t_keras.layers import LocalSelfAttention, MultiHeadAttention, local_mask


def local(neighbourhood, **settings):
    layer = LocalSelfAttention(2, 8, neighbourhood, d_k=3, d_v=5, **settings)
    layer.build((None, None, 8))
    return disturbed(layer)


def full(layer):
    """Returns `MultiHeadAttention` with the settings and weights of a `LocalSelfAttention`."""
    settings = layer.get_config()
    del settings["neighbourhood"]
    twin = MultiHeadAttention(**settings)
    twin.build((None, None, 8))
    twin.set_weights(layer.get_weights())
    return twin


@pytest.mark.parametrize(
    ("neighbourhood", "length"),
    [(1, 7), pytest.param(2, 9, marks=pytest.mark.jax), (5, 1), (16, 32), (33, 77), (200, 32)],
)
@pytest.mark.parametrize("causal", [False, True])
def test_output_equals_masked_attention(neighbourhood, length, causal):
    layer, x = local(neighbourhood, causal=causal), ops.array(vectors(2, length, 8))
    twin, near = full(layer), array(local_mask(length, neighbourhood, causal)).astype(bool)
    np.testing.assert_allclose(array(layer(x)), array(twin(x, query_mask=near)), atol=1e-5)
    padding = np.arange(length) < np.array([[length], [length // 3]])
    outputs = array(layer(x, query_mask=padding))
    both = near & padding[:, None, :]
    np.testing.assert_allclose(outputs, array(twin(x, query_mask=both)), atol=1e-5)
    assert (outputs[~both.any(axis=2)] == 0).all(), "no real token within reach"


@pytest.mark.jax
def test_gradients_equal_those_of_masked_attention():
    layer, x = local(7), ops.array(vectors(2, 30, 8))
    twin, mask = full(layer), local_mask(30, 7)
    blocked = gradients(layer, lambda: ops.sum(layer(x) ** 2))
    masked = gradients(twin, lambda: ops.sum(twin(x, query_mask=mask) ** 2))
    for a, b in zip(blocked, masked, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3, rtol=1e-4)


def test_contract(tmp_path):
    settings = {"num_heads": 2, "d_model": 8, "neighbourhood": 3, "causal": True, "dropout": 0.1}
    check_layer(LocalSelfAttention, settings, [vectors(2, 9, 8)], 4, tmp_path)


def test_no_n_by_n_array_is_created():
    """The largest intermediate array grows linearly with n."""
    import tensorflow as tf

    sizes = {}
    for length in (1024, 2048):
        graph = tf.function(local(65)).get_concrete_function(ops.zeros((1, length, 8))).graph
        shapes = [each.shape for op in graph.get_operations() for each in op.outputs]
        sizes[length] = max(np.prod(shape) for shape in shapes)
    assert sizes[2048] <= 2.1 * sizes[1024]


def test_a_short_sequence_is_not_padded_to_a_long_neighbourhood():
    """Blocks as long as this neighborhood would need terabytes."""
    import tensorflow as tf

    layer, x = local(2_000_001), vectors(2, 5, 8)
    padding = np.arange(5) < np.array([[5], [2]])
    shapes = tf.TensorSpec([None, None, 8]), tf.TensorSpec([None, None], tf.bool)
    graph = tf.function(lambda x, mask: layer(x, query_mask=mask), shapes)
    np.testing.assert_allclose(
        array(graph(x, padding)), array(layer(x, query_mask=padding)), atol=1e-6
    )


@pytest.mark.parametrize("shape", [(2, 0, 8), (0, 4, 8)])
def test_no_positions_and_no_sentences_have_empty_outputs(shape):
    for mask in (None, np.ones(shape[:2], bool)):
        assert tuple(local(3)(np.zeros(shape, "float32"), query_mask=mask).shape) == shape


@pytest.mark.parametrize("causal", [False, True])
def test_the_weights_of_every_head_are_a_band(causal):
    layer, x = local(4, causal=causal), ops.array(vectors(2, 9, 8))
    padding = np.arange(9) < np.array([[9], [7]])
    outputs, weights = layer(x, query_mask=padding, return_attention_scores=True)
    weights = array(weights)
    np.testing.assert_allclose(array(outputs), array(layer(x, query_mask=padding)), atol=1e-5)
    np.testing.assert_allclose(weights.sum(-1)[0], 1, atol=1e-5)
    seen = array(local_mask(9, 4, causal)).astype(bool) & padding[:, None, :]
    np.testing.assert_array_equal(weights > 0, np.repeat(seen[:, None], 2, axis=1))


def test_wrong_settings_and_arguments_are_refused():
    with pytest.raises(ValueError, match=r"`neighbourhood` must be .* Received: neighbourhood=0"):
        local(0)
    layer, x = local(3), ops.array(vectors(2, 9, 8))
    with pytest.raises(ValueError, match=r"must have the shape \[batch, length\].*\(1, 9, 9\)"):
        layer(x, query_mask=local_mask(9, 3))
    with pytest.raises(ValueError, match="has no `value`"):
        layer(x, x + 1)
