import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, disturbed, vectors
from support.models.reference import ACTIVATIONS

from t2t_keras import TransformerConfig
from t2t_keras.layers import Encoder, FeedForward
from t2t_keras.layers.feed_forward import activation_names


@pytest.mark.jax
def test_contract(tmp_path):
    settings = {"d_model": 6, "d_ff": 16, "activation": "gelu"}
    check_layer(FeedForward, settings, [vectors(2, 4, 8)], 4, tmp_path, output_width=6)


@pytest.mark.parametrize(
    ("activation", "function"),
    [(name, ACTIVATIONS[name]) for name in sorted(ACTIVATIONS)],
)
def test_output_equals_the_formula(activation, function):
    layer = FeedForward(d_model=8, d_ff=16, activation=activation)
    layer.build((None, None, 8))
    w1, b1, w2, b2 = map(array, disturbed(layer).weights)
    x = vectors(2, 3, 8)
    np.testing.assert_allclose(
        array(layer(ops.array(x))), function(x @ w1 + b1) @ w2 + b2, atol=1e-5
    )


def test_each_position_is_computed_alone():
    layer = FeedForward(d_model=8, d_ff=16)
    x = ops.array(vectors(1, 5, 8))
    np.testing.assert_allclose(array(layer(x))[:, 2:3], array(layer(x[:, 2:3])), atol=1e-6)


@pytest.mark.parametrize("name", sorted({*activation_names()} - {*ACTIVATIONS}))
def test_keras_activations_are_known_by_name(name):
    layer, x = FeedForward(d_model=8, d_ff=16, activation=name), ops.array(vectors(2, 3, 8))
    layer.build(x.shape)
    inner = keras.layers.Dense(16, activation=getattr(keras.activations, name))
    inner.build(x.shape)
    inner.set_weights(layer.inner.get_weights())
    np.testing.assert_array_equal(array(layer(x)), array(layer.outer(inner(x))))
    assert TransformerConfig(activation=name).activation == name


@keras.saving.register_keras_serializable("tests")
def cubed(x):
    return x**3


@pytest.mark.parametrize(
    "activation", [cubed, keras.activations.mish, keras.layers.PReLU(shared_axes=[1])]
)
def test_an_activation_may_be_a_function_or_a_layer(activation, tmp_path):
    settings = {"d_model": 8, "d_ff": 16, "activation": activation}
    weights = 5 if isinstance(activation, keras.layers.Layer) else 4
    layer = check_layer(FeedForward, settings, [vectors(2, 4, 8)], weights, tmp_path)
    x = ops.array(vectors(2, 4, 8))
    if weights == 4:
        inner = activation(ops.matmul(x, layer.inner.kernel) + layer.inner.bias)
        np.testing.assert_allclose(array(layer(x)), array(layer.outer(inner)), atol=1e-6)
    block = {"d_model": 8, "d_ff": 16, "num_heads": 2, "activation": activation}
    encoder = Encoder(num_layers=2, **block)
    encoder.build((None, None, 8))
    assert len(encoder.weights) == 2 * (12 + weights - 4)
    assert Encoder.from_config(encoder.get_config()).get_config() == encoder.get_config()


def test_an_unknown_activation_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"`activation` must be one of .*did you mean 'swish'"):
        FeedForward(d_model=8, d_ff=16, activation="swisch")
    for activation, message in (
        ("leaky_rleu", "did you mean 'leaky_relu'"),
        ("glu", "glu"),
        (3, "=3"),
        (keras.layers.LeakyReLU, "Received: activation=<class"),
    ):
        with pytest.raises(ValueError, match=message):
            FeedForward(d_model=8, d_ff=16, activation=activation)
        with pytest.raises(ValueError, match="`activation` must be one of"):
            TransformerConfig(activation=activation)
