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


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_output_equals_the_formula_at_each_position(activation):
    layer, x = FeedForward(d_model=8, d_ff=16, activation=activation), vectors(2, 3, 8)
    layer.build(x.shape)
    w1, b1, w2, b2 = map(array, disturbed(layer).weights)
    expected = ACTIVATIONS[activation](x @ w1 + b1) @ w2 + b2
    np.testing.assert_allclose(array(layer(ops.array(x))), expected, atol=1e-5)


def test_keras_activations_are_known_by_name():
    names = {*activation_names()} - {*ACTIVATIONS}
    assert {"mish", "tanh", "linear"} < names and not {"get", "glu", "threshold"} & names
    x = vectors(2, 3, 8)
    for name in names:
        layer = FeedForward(d_model=8, d_ff=16, activation=name)
        layer.build(x.shape)
        kernel, bias, *_ = map(array, layer.weights)
        inner = getattr(keras.activations, name)(ops.array(x @ kernel + bias))
        np.testing.assert_allclose(array(layer(x)), array(layer.outer(inner)), atol=1e-5)
        assert TransformerConfig(activation=name).activation == name


@keras.saving.register_keras_serializable("tests")
def cubed(x):
    return x**3


@pytest.mark.parametrize(
    ("activation", "weights"), [(cubed, 4), (keras.layers.PReLU(shared_axes=[1]), 5)]
)
def test_an_activation_may_be_a_function_or_a_layer(activation, weights, tmp_path):
    settings = {"d_model": 8, "d_ff": 16, "activation": activation}
    layer = check_layer(FeedForward, settings, [vectors(2, 4, 8)], weights, tmp_path)
    x = ops.array(vectors(2, 4, 8))
    if activation is cubed:
        inner = activation(ops.matmul(x, layer.inner.kernel) + layer.inner.bias)
        np.testing.assert_allclose(array(layer(x)), array(layer.outer(inner)), atol=1e-6)
    encoder = Encoder(num_layers=2, num_heads=2, **settings)
    encoder.build((None, None, 8))
    assert len(encoder.weights) == 2 * (12 + weights - 4)
    assert Encoder.from_config(encoder.get_config()).get_config() == encoder.get_config()


@pytest.mark.parametrize(
    ("activation", "message"),
    [
        ("swisch", "did you mean 'swish'"),
        ("leaky_rleu", "did you mean 'leaky_relu'"),
        ("glu", "glu"),
        (keras.layers.LeakyReLU, "Received: activation=<class"),
    ],
)
def test_an_unknown_activation_suggests_the_nearest(activation, message):
    with pytest.raises(ValueError, match=f"`activation` must be one of .*{message}"):
        FeedForward(d_model=8, d_ff=16, activation=activation)
