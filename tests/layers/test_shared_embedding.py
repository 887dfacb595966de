import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, disturbed, ids, vectors

from t2t_keras.layers import MultiHeadAttention, SharedEmbedding


def embedding(**settings):
    layer = SharedEmbedding(vocab_size=50, d_model=16, **settings)
    layer.build((None, None))
    return layer


@pytest.mark.jax
def test_contract(tmp_path):
    settings = {"vocab_size": 50, "d_model": 16, "scale": 2.5}
    check_layer(SharedEmbedding, settings, [ids(2, 5)], 1, tmp_path, output_width=16)


@pytest.mark.parametrize(("scale", "factor"), [(None, 4), (2.5, 2.5)])
@pytest.mark.parametrize("output_bias", [False, True])
def test_the_scale_acts_on_the_lookup_only_and_the_bias_on_the_logits(scale, factor, output_bias):
    layer = disturbed(embedding(scale=scale, output_bias=output_bias))
    matrix, bias = map(array, layer.weights) if output_bias else (array(layer.matrix), 0)
    tokens, x = ids(2, 5), vectors(2, 5, 16)
    np.testing.assert_allclose(array(layer(tokens)), matrix[tokens] * factor, atol=1e-6)
    for each in (x, x[0]):
        logits = array(layer.project(ops.array(each)))
        np.testing.assert_allclose(logits, each @ matrix.T + bias, atol=1e-5)


def test_initial_vectors_have_variance_one():
    layer = SharedEmbedding(vocab_size=1000, d_model=64)
    assert abs(array(layer(np.arange(1000)[None])).std() - 1) < 0.02


def test_logits_are_float32_under_mixed_precision():
    layer = embedding(dtype="mixed_bfloat16")
    x = ops.cast(vectors(2, 5, 16), "bfloat16")
    logits = layer.project(x)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"
    np.testing.assert_allclose(array(logits), array(x) @ array(layer.matrix).T, atol=1e-5)


def test_a_functional_model_trains_the_matrix_through_the_projection(tmp_path):
    tied = SharedEmbedding(vocab_size=50, d_model=16)
    tokens = keras.Input((None,))  # float32, the default of Keras
    model = keras.Model(tokens, tied.project(keras.layers.Dense(16)(tied(tokens))))
    assert len(model.trainable_weights) == 3
    before = array(model(ids(2, 5)))
    tied.matrix.assign(tied.matrix * 2)
    np.testing.assert_allclose(array(model(ids(2, 5))), before * 4, rtol=1e-4, atol=1e-5)
    model.save(tmp_path / "tied.keras")
    loaded = keras.saving.load_model(tmp_path / "tied.keras")
    np.testing.assert_allclose(array(loaded(ids(2, 5))), array(model(ids(2, 5))))
    x, only_projecting = keras.Input((None, 16)), SharedEmbedding(vocab_size=50, d_model=16)
    assert len(keras.Model(x, only_projecting.project(x)).weights) == 1


@pytest.mark.parametrize("length", [16, 6], ids=["d_model", "shorter"])
def test_padding_is_the_keras_mask_also_of_ids_that_are_floats(length):
    """`keras.Input((16,))` is float32; so are vectors [rows, 16] that are projected to logits."""
    layer, attention = embedding(), MultiHeadAttention(num_heads=2, d_model=16)
    tokens = ids(2, length, [length, 3])
    alone = array(attention(layer(tokens[1:, :3])))[0]
    symbols = keras.Input((length,))
    functional = keras.Model(symbols, attention(layer(symbols)))
    floats = tokens.astype("float32")
    for outputs in (attention(layer(tokens)), attention(layer(floats)), functional(floats)):
        np.testing.assert_allclose(array(outputs)[1, :3], alone, atol=1e-6)
    layer.mask_zero = False
    assert not np.allclose(array(attention(layer(tokens)))[1, :3], alone)


def test_logits_of_rows_have_no_mask():
    """A row of a decoding step has the rank and perhaps the length of a sequence of float ids."""
    layer, rows = embedding(), vectors(3, 16)
    rows[:, 8:] = 0
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    labels = np.array([1, 2, 3])
    logits = layer.project(ops.array(rows))
    expected = float(loss(labels, ops.array(array(logits))))
    np.testing.assert_allclose(float(loss(labels, logits)), expected, rtol=1e-6)
