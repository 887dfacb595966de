"""Custom gradients can be called as each backend calls them."""

import keras
import numpy as np
from keras import ops
from support.models.helpers import array, vectors

from t2t_keras.layers.layer_norm import normalized


def test_pytorch_passes_the_inputs_and_names_the_upstream_gradient(monkeypatch):
    inputs = [ops.array(vectors(*shape)) for shape in ((1, 3, 4), (4,), (4,))]
    calls = []

    def custom_gradient(forward):
        def called(*args):
            output, gradient = forward(*args)
            upstream = ops.ones_like(output)
            calls.append((gradient(upstream), gradient(*args, upstream=upstream)))
            return output

        return called

    monkeypatch.setattr(keras.ops, "custom_gradient", custom_gradient)
    normalized(*inputs, 1e-6)
    ((expected, results),) = calls
    for ours, theirs, given in zip(results, expected, inputs, strict=True):
        assert tuple(ours.shape) == tuple(given.shape)
        np.testing.assert_array_equal(array(ours), array(theirs))
