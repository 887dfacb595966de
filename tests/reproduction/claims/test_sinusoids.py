"""Sinusoids: wavelengths, and a shift as one linear map for all positions."""

import math

import numpy as np
import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.reproduction.claims import sinusoids
from t2t_keras.reproduction.claims.finding import write_finding
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


@pytest.mark.long
def test_what_is_measured_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(sinusoids, "call_in_child", lambda function, *args: function(*args))
    monkeypatch.setattr(sinusoids, "POSITIONS", 1100)
    monkeypatch.setattr(sinusoids, "STARTS", (0, 200))
    monkeypatch.setattr(sinusoids, "D_MODEL", 64)
    monkeypatch.setattr(sinusoids, "PAIRS", (0, 31))
    text = write_finding(tmp_path, "sinusoids", sinusoids.finding(UntrainedRuns(tmp_path)))
    last = 2 * math.pi * 10_000 ** (62 / 64)
    assert "from 2.00π to 14,998π" in text and last / math.pi == pytest.approx(14_998, abs=1)
    row = (tmp_path / "sinusoids-wavelengths.csv").read_text().splitlines()[-1]
    assert row.startswith('"62, 63"')
    assert "![Sinusoids and relative positions](sinusoids.png)" in text
    assert (tmp_path / "sinusoids.png").stat().st_size > 10_000
