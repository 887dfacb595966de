"""Why scores are divided by √d_k: statistics of random vectors, and the runs compared."""

import math

import numpy as np
import pytest

from t2t_keras.reproduction.claims.scale import softmax_gradient, statistics


@pytest.mark.parametrize("d_k", [16, 256])
def test_only_undivided_scores_grow_with_the_width(d_k):
    divided, undivided = statistics(d_k, True), statistics(d_k, False)
    assert divided["variance"] == pytest.approx(1, abs=0.05)
    assert undivided["variance"] == pytest.approx(d_k, rel=0.05)
    assert undivided["entropy"] < divided["entropy"] < math.log(64)


def test_the_gradient_is_the_norm_of_the_jacobian():
    p = np.array([[0.5, 0.3, 0.2], [0.0, 1.0, 0.0]])
    expected = [np.linalg.norm(np.diag(row) - np.outer(row, row)) for row in p]
    np.testing.assert_allclose(softmax_gradient(p), expected, atol=1e-12)
