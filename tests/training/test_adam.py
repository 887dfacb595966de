import keras
import numpy as np
import pytest
import tensorflow as tf

from t2t_keras.training.adam import Adam

GRADIENTS = np.random.default_rng(0).normal(size=(4, 3, 2)).astype("float32")


def updated(optimizer, gradients=GRADIENTS, dtype="float32"):
    """Returns weights and moments after an update with each of the gradients."""
    weights = keras.Variable(np.ones((3, 2)), dtype=dtype)
    optimizer.build([weights])
    for gradient in gradients:
        is_sparse = isinstance(gradient, tf.IndexedSlices)
        optimizer.apply([gradient if is_sparse else tf.constant(gradient)])
    return [variable.numpy() for variable in (weights, *optimizer.variables)]


def fused_and_keras_adam(**settings):
    schedule = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    settings = {"beta_1": 0.9, "beta_2": 0.98, "epsilon": 1e-9} | settings
    return (make(schedule, **settings) for make in (Adam, keras.optimizers.Adam))


@pytest.mark.parametrize("settings", [{}, {"amsgrad": True}], ids=str)
def test_the_fused_update_matches_keras(settings):
    ours, keras_own = fused_and_keras_adam(**settings)
    for result, array in zip(updated(ours), updated(keras_own), strict=True):
        np.testing.assert_allclose(result, array, rtol=1e-5)


@pytest.mark.parametrize(
    ("gradients", "dtype"),
    [
        ([tf.IndexedSlices(tf.ones((1, 2)), [0], (3, 2))], "float32"),
        (GRADIENTS.astype("float16"), "float16"),
    ],
    ids=["sparse gradients", "half precision"],
)
def test_other_updates_match_keras(gradients, dtype):
    ours, keras_own = fused_and_keras_adam(epsilon=1e-4)
    expected = updated(keras_own, gradients, dtype)
    for result, array in zip(updated(ours, gradients, dtype), expected, strict=True):
        np.testing.assert_allclose(result, array, rtol=1e-3)
