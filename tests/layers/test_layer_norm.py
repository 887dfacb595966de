import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, disturbed, gradients, vectors

from t2t_keras.layers.layer_norm import LayerNorm


class NormedVectors(keras.layers.Layer):
    """Trainable vectors and their norm."""

    def __init__(self, norm, dtype):
        super().__init__()
        self.vectors = self.add_weight(shape=(4, 3, 8), dtype=dtype)
        self.vectors.assign(1 + 2 * vectors(4, 3, 8))
        self.norm = norm
        norm.build((None, None, 8))
        disturbed(norm)

    def __call__(self):
        return self.norm(ops.reshape(self.vectors, (4, 3, 8)), training=True)


@pytest.mark.parametrize(
    ("dtype", "policy", "tolerance"),
    [("float32", "float32", 1e-5), ("bfloat16", "mixed_bfloat16", 2e-2)],
)
def test_values_and_gradients_in_training_are_those_of_keras(dtype, policy, tolerance):
    norms = LayerNorm, keras.layers.LayerNormalization
    ours, theirs = (NormedVectors(norm(epsilon=1e-6, dtype=policy), dtype) for norm in norms)
    np.testing.assert_allclose(array(ours()), array(theirs()), rtol=tolerance, atol=tolerance)
    weights = ops.array(vectors(4, 3, 8, seed=1))
    our_gradients, their_gradients = (
        gradients(layer, lambda y=layer: ops.sum(ops.multiply(y(), weights)))
        for layer in (ours, theirs)
    )
    pairs = zip(our_gradients, their_gradients, strict=True)
    for our_gradient, their_gradient in pairs:
        np.testing.assert_allclose(our_gradient, their_gradient, rtol=tolerance, atol=tolerance)


def test_outside_of_training_it_is_the_layer_of_keras():
    norm = LayerNorm(epsilon=1e-6)
    norm.build((None, None, 8))
    x = ops.array(vectors(4, 3, 8))
    expected = keras.layers.LayerNormalization.call(norm, x)
    np.testing.assert_array_equal(array(norm(x)), array(expected))
