import keras
import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.training.adam import Adam

GRADIENTS = np.random.default_rng(0).normal(size=(4, 3, 2)).astype("float32")


def updated(optimizer, gradients, dtype):
    """Returns weights and moments after an update with each of the gradients."""
    weights = keras.Variable(np.ones((3, 2)), dtype=dtype)
    optimizer.build([weights])
    for gradient in gradients:
        is_sparse = isinstance(gradient, tf.IndexedSlices)
        optimizer.apply([gradient if is_sparse else tf.constant(gradient)])
    return [variable.numpy() for variable in (weights, *optimizer.variables)]


@pytest.mark.parametrize(
    ("settings", "gradients", "dtype"),
    [
        ({"epsilon": 1e-9}, GRADIENTS, "float32"),
        ({"epsilon": 1e-9, "amsgrad": True}, GRADIENTS, "float32"),
        ({}, [tf.IndexedSlices(tf.ones((1, 2)), [0], (3, 2))], "float32"),
        ({}, GRADIENTS.astype("float16"), "float16"),
    ],
    ids=["fused", "amsgrad", "sparse gradients", "half precision"],
)
def test_updates_match_keras(settings, gradients, dtype):
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    settings = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-4} | settings
    results, expected = (
        updated(make(schedule, **settings), gradients, dtype)
        for make in (Adam, keras.optimizers.Adam)
    )
    for result, array in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, array, rtol=1e-5 if dtype == "float32" else 1e-3)
