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

    def __call__(self, training=True):
        return self.norm(ops.reshape(self.vectors, (4, 3, 8)), training=training)


@pytest.mark.parametrize(
    ("dtype", "policy", "tolerance"),
    [("float32", "float32", 1e-5), ("bfloat16", "mixed_bfloat16", 2e-2)],
)
def test_values_and_gradients_are_those_of_keras(dtype, policy, tolerance):
    norms = LayerNorm, keras.layers.LayerNormalization
    ours, theirs = (NormedVectors(norm(epsilon=1e-6, dtype=policy), dtype) for norm in norms)
    np.testing.assert_allclose(array(ours()), array(theirs()), rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(array(ours(training=False)), array(theirs(training=False)))
    weights = ops.array(vectors(4, 3, 8, seed=1))
    found, expected = (
        gradients(layer, lambda y=layer: ops.sum(ops.multiply(y(), weights)))
        for layer in (ours, theirs)
    )
    for our_gradient, their_gradient in zip(found, expected, strict=True):
        np.testing.assert_allclose(our_gradient, their_gradient, rtol=tolerance, atol=tolerance)
