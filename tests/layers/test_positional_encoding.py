import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, vectors

from t2t_keras import TransformerConfig
from t2t_keras.layers import LearnedPositionalEncoding, SinusoidalPositionalEncoding
from t2t_keras.layers.positional_encoding import PositionalEncoding


def encoding(length, width, **settings):
    return array(SinusoidalPositionalEncoding(**settings)(ops.zeros((1, length, width))))[0]


@pytest.mark.parametrize(
    ("settings", "divisor", "columns"),
    [
        ({}, 4, [0, 2, 4, 6, 1, 3, 5, 7]),
        ({"interleaved": False}, 3, range(8)),  # tensor2tensor
        ({"interleaved": False, "largest_is_1": False}, 4, range(8)),  # Hugging Face
    ],
    ids=["paper", "concatenated", "hugging_face"],
)
def test_sines_and_cosines_equal_the_formula(settings, divisor, columns):
    angles = np.arange(2, 1002)[:, None] / 10000 ** (np.arange(4) / divisor)
    expected = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    waves = encoding(1000, 8, offset=2, **settings)[:, columns]
    np.testing.assert_allclose(waves, expected, atol=1e-4)


@pytest.mark.jax
def test_contract(tmp_path):
    inputs = [vectors(2, 4, 8)]
    settings = {"interleaved": False, "offset": 3}
    check_layer(SinusoidalPositionalEncoding, settings, inputs, 0, tmp_path)
    check_layer(LearnedPositionalEncoding, {"max_length": 9, "offset": 1}, inputs, 1, tmp_path)


@pytest.mark.parametrize(
    "layer",
    [
        SinusoidalPositionalEncoding(interleaved=False, offset=2),
        LearnedPositionalEncoding(max_length=12, offset=2),
    ],
)
def test_one_position_at_a_time_equals_all_at_once(layer):
    x = ops.array(vectors(1, 10, 8))
    expected = array(layer(x))
    for position in range(10):
        encoded = array(layer(x[:, position : position + 1], start=position))
        np.testing.assert_allclose(encoded[:, 0], expected[:, position], atol=1e-6)


def test_learned_positions_are_rows_of_the_table():
    layer, x = LearnedPositionalEncoding(max_length=5, offset=1), vectors(2, 4, 8)
    np.testing.assert_allclose(array(layer(ops.array(x))), x + array(layer.table)[1:], atol=1e-6)


def test_a_sequence_longer_than_the_table_is_refused():
    layer = LearnedPositionalEncoding(max_length=5, offset=1)
    assert layer.longest == 4
    with pytest.raises(ValueError, match=r"at most 4 positions.*Received: 5 positions"):
        layer(ops.zeros((1, 5, 8)))
    with pytest.raises(ValueError, match="Received: 5 positions"):
        layer(ops.zeros((1, 1, 8)), start=4)
    PositionalEncoding().check_length(10**6)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="a graph of TensorFlow")
def test_positions_beyond_the_table_are_nan_in_a_graph_of_unknown_length():
    import tensorflow as tf

    layer = LearnedPositionalEncoding(max_length=5)
    layer.build((None, None, 8))
    unknown = tf.TensorSpec((None, None, 8), tf.float32)
    function = tf.function(layer, input_signature=[unknown], jit_compile=True)
    encoded = function(ops.zeros((1, 8, 8)))[:, 3:6]
    encoded = array(encoded)[0]
    assert np.isfinite(encoded[:2]).all() and np.isnan(encoded[2:]).all()


def test_positions_are_computed_in_float32_under_mixed_precision():
    x = ops.zeros((1, 2, 8))
    mixed = array(SinusoidalPositionalEncoding(dtype="mixed_bfloat16")(x, start=5001))
    exact = array(SinusoidalPositionalEncoding()(x, start=5001))
    np.testing.assert_allclose(mixed, exact, atol=2**-8)


def test_an_odd_width_is_refused():
    with pytest.raises(ValueError, match=r"`d_model` must be even .*d_model=7"):
        encoding(3, 7)
    with pytest.raises(ValueError, match="even and at least 4"):
        encoding(3, 2, interleaved=False)


def test_the_longest_sequence_follows_from_kind_and_offset():
    settings = {"vocab_size": 9, "d_model": 8, "num_heads": 2, "max_length": 7}
    for kind, longest in (("sinusoidal", None), ("learned", 5)):
        assert TransformerConfig(**settings, positions=kind, position_offset=2).longest == longest
