import math

import numpy as np
import pytest
from helpers import array, check_layer, vectors
from keras import ops

from t2t_keras.layers import LearnedPositionalEncoding, SinusoidalPositionalEncoding


def encoding(length, width, **settings):
    return array(SinusoidalPositionalEncoding(**settings)(ops.zeros((1, length, width))))[0]


def test_sine_and_cosine_are_interleaved():
    found = encoding(1000, 6)
    for pos in (0, 1, 2, 999):
        for i in range(3):
            angle = pos / 10000 ** (2 * i / 6)
            assert found[pos, 2 * i] == pytest.approx(math.sin(angle), abs=1e-4)
            assert found[pos, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-4)


def test_the_concatenated_form_is_that_of_tensor2tensor():
    found = encoding(40, 8, interleaved=False, offset=2)
    for pos in (0, 1, 39):
        for i in range(4):
            angle = (pos + 2) / 10000 ** (i / 3)
            assert found[pos, i] == pytest.approx(math.sin(angle), abs=1e-5)
            assert found[pos, 4 + i] == pytest.approx(math.cos(angle), abs=1e-5)


def test_contract_of_both(tmp_path):
    inputs = [vectors(2, 4, 8)]
    check_layer(SinusoidalPositionalEncoding, {}, inputs, 0, tmp_path)
    settings = {"interleaved": False, "offset": 3}
    check_layer(SinusoidalPositionalEncoding, settings, inputs, 0, tmp_path)
    check_layer(LearnedPositionalEncoding, {"max_length": 9}, inputs, 1, tmp_path)


@pytest.mark.parametrize(
    "layer",
    [
        SinusoidalPositionalEncoding(),
        SinusoidalPositionalEncoding(interleaved=False, offset=2),
        LearnedPositionalEncoding(max_length=12, offset=2),
    ],
)
def test_one_position_at_a_time_equals_all_at_once(layer):
    x = ops.array(vectors(1, 10, 8))
    expected = array(layer(x))
    for position in range(10):
        found = array(layer(x[:, position : position + 1], start=position))
        np.testing.assert_allclose(found[:, 0], expected[:, position], atol=1e-6)


def test_learned_positions_are_rows_of_the_table():
    layer = LearnedPositionalEncoding(max_length=5, offset=1)
    x = vectors(2, 4, 8)
    found = array(layer(ops.array(x)))
    np.testing.assert_allclose(found, x + array(layer.table)[1:], atol=1e-6)


def test_a_sequence_longer_than_the_table_is_refused():
    layer = LearnedPositionalEncoding(max_length=5, offset=1)
    with pytest.raises(ValueError, match=r"at most 4 positions.*Received: 5 positions"):
        layer(ops.zeros((1, 5, 8)))
    with pytest.raises(ValueError, match="Received: 5 positions"):
        layer(ops.zeros((1, 1, 8)), start=4)


@pytest.mark.parametrize("xla", [False, True])
def test_beyond_the_table_is_not_a_number_where_no_error_can_be_raised(xla):
    import keras

    layer = LearnedPositionalEncoding(max_length=5)
    layer.build((None, None, 8))

    if keras.backend.backend() == "jax":
        import jax

        found = jax.jit(lambda start: layer(ops.zeros((1, 3, 8)), start=start))(3)
    else:
        import tensorflow as tf

        anything = tf.TensorSpec((None, None, 8), tf.float32)
        function = tf.function(layer, input_signature=[anything], jit_compile=xla)
        found = function(ops.zeros((1, 8, 8)))[:, 3:6]
    found = array(found)[0]
    assert np.isfinite(found[:2]).all() and np.isnan(found[2:]).all()


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
