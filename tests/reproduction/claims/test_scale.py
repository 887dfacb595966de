"""Why scores are divided by √d_k: statistics of random vectors, and the runs compared."""

import math

import numpy as np
import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.reproduction.claims.finding import write_finding
from t2t_keras.reproduction.claims.scale import finding, softmax_gradient, statistics


@pytest.mark.parametrize("d_k", [16, 256])
def test_only_undivided_scores_grow_with_the_width(d_k):
    divided, undivided = statistics(d_k, True), statistics(d_k, False)
    assert divided.variance == pytest.approx(1, abs=0.05)
    assert undivided.variance == pytest.approx(d_k, rel=0.05)
    assert undivided.entropy < divided.entropy < math.log(64)


def test_the_gradient_is_the_norm_of_the_jacobian():
    p = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])
    expected = [np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in p]
    np.testing.assert_allclose(softmax_gradient(p), expected, atol=1e-12)


@pytest.mark.long
def test_runs_differ_in_the_division_and_the_width_only(tmp_path):
    runs = UntrainedRuns(tmp_path)
    found = finding(runs)
    assert list(runs.changes.values()) == [
        {"model.attention": attention, "model.num_heads": heads}
        for heads in (8, 1)
        for attention in ("scaled", "unscaled")
    ]
    text = write_finding(tmp_path, "scale", found)
    assert "2.00 with and 3.00 without the division for heads of width 16, and of 4.00" in text
    assert "| 1024 |" in text and "![" in text
    assert (tmp_path / "scale.png").stat().st_size > 10_000
    assert "not divided,1,128,5.000,20.0" in (tmp_path / "scale-runs.csv").read_text()
