import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, disturbed, vectors
from support.models.reference import ACTIVATIONS

from t2t_keras.layers import FeedForward


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


def test_an_unknown_activation_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"`activation` must be one of .*did you mean 'swish'"):
        FeedForward(d_model=8, d_ff=16, activation="swisch")
