import numpy as np
import pytest

from t2t_keras.translating.confidence import word_confidence

LOG_P = np.log([0.5, 0.25, 0.75, 1.0, 0.125])


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([1, 1, 1, 1, 1], [0.5, 0.25, 0.75, 1.0, 0.125]),
        ([2, 1, 2], [0.25, 0.75, 0.125]),
        ([5], [0.125]),
        ([], []),
    ],
)
def test_a_word_is_as_probable_as_its_least_probable_piece(sizes, expected):
    np.testing.assert_allclose(word_confidence(LOG_P, sizes), expected)


def test_an_impossible_piece_has_confidence_0():
    assert word_confidence([-np.inf, 0.0], [1, 1]).tolist() == [0.0, 1.0]
