"""Scores of keys for queries, compared with loops over every pair."""

import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, vectors

from t2t_keras.layers.scaled_dot_product import additive_scores, scaled_scores, unscaled_scores


def test_only_the_scale_separates_scaled_from_unscaled_scores():
    q, k = vectors(2, 3, 4, 16, seed=1), vectors(2, 3, 5, 16, seed=2)
    unscaled = array(unscaled_scores(ops.array(q), ops.array(k)))
    np.testing.assert_allclose(unscaled, q @ k.swapaxes(2, 3), atol=1e-5)
    scaled = array(scaled_scores(ops.array(q), ops.array(k)))
    np.testing.assert_allclose(scaled * 4, unscaled, atol=1e-5)


@pytest.mark.parametrize(("heads", "blocks"), [(1, ()), (3, (7,))])
def test_additive_scores_are_the_formula(heads, blocks):
    q, k = vectors(2, heads, *blocks, 4, 6, seed=1), vectors(2, heads, *blocks, 5, 6, seed=2)
    v = vectors(heads, 6, seed=3)
    scores = array(additive_scores(*map(ops.array, (q, k, v))))
    hidden = np.tanh(q[..., :, None, :] + k[..., None, :, :])
    expected = (hidden * v.reshape(heads, *(1 for _ in blocks), 1, 1, 6)).sum(-1)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2])
def test_additive_scores_of_a_large_batch_are_computed(heads):
    """TensorFlow crashed in the product of 64 matrices with the column of a single head."""
    q = ops.array(vectors(64, heads, 12, 64, seed=1))
    assert np.isfinite(array(additive_scores(q, q, ops.array(vectors(heads, 64, seed=3))))).all()
