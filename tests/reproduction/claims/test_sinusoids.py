"""Sinusoids: wavelengths, and a shift as one linear map for all positions."""

import numpy as np

from t2t_keras.reproduction.claims.sinusoids import (
    fit_error,
    frequencies,
    layer_outputs,
    rotation,
    shift_error,
)


def test_the_layers_outputs_shift_by_a_rotation():
    waves = layer_outputs(200, 16)
    np.testing.assert_allclose(frequencies(waves), 10_000 ** (-np.arange(8) / 8), rtol=1e-4)
    assert shift_error(waves, 50) < 1e-4
    assert shift_error(waves[:, ::-1], 50) > 0.1, "cosines before sines"
    matrix = rotation(frequencies(waves), 3)
    np.testing.assert_allclose(matrix @ waves[40], waves[43], atol=1e-4)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(16), atol=1e-12)


def test_a_fitted_map_predicts_sinusoids_but_no_random_vectors():
    waves = layer_outputs(200, 16)
    assert fit_error(waves, 9) < 1e-3
    assert fit_error(np.random.default_rng(0).normal(size=waves.shape), 9) > 0.9
