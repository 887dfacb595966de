"""Custom gradients can be called as each backend calls them."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, vectors

from t2t_keras.chunked_loss import chunked_loss
from t2t_keras.layers.layer_norm import normalized
from t2t_keras.training.step.r_drop import symmetric_divergence

LABELS = np.array([[1, 4, 0]], "int32")


def chunked_sums(x, matrix, bias):
    return chunked_loss(x, (matrix, bias), LABELS, np.ones((1, 3), "float32"), 0.1)[0]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (chunked_sums, [(1, 3, 4), (6, 4), (6,)]),
        (lambda x, gamma, beta: normalized(x, gamma, beta, 1e-6), [(1, 3, 4), (4,), (4,)]),
        (symmetric_divergence, [(1, 3, 6), (1, 3, 6)]),
    ],
    ids=["chunked loss", "layer norm", "divergence"],
)
def test_pytorch_passes_the_inputs_and_names_the_upstream_gradient(function, shapes, monkeypatch):
    inputs = [ops.array(vectors(*shape, seed=seed)) for seed, shape in enumerate(shapes)]
    calls = []

    def custom_gradient(forward):
        def called(*args):
            output, gradient = forward(*args)
            upstream = ops.ones_like(output)
            calls.append((gradient(upstream), gradient(*args, upstream=upstream)))
            return output

        return called

    monkeypatch.setattr(keras.ops, "custom_gradient", custom_gradient)
    function(*inputs)
    ((expected, results),) = calls
    for ours, theirs, given in zip(results, expected, inputs, strict=True):
        assert tuple(ours.shape) == tuple(given.shape)
        np.testing.assert_array_equal(array(ours), array(theirs))
