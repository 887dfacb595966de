import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, ids

from t2t_keras.layers import causal_mask, local_mask, padding_mask
from t2t_keras.layers.masks import over_heads


def test_zeros_are_padding():
    mask = array(padding_mask(ids(2, 4, [4, 1])))
    np.testing.assert_array_equal(mask, [[1, 1, 1, 1], [1, 0, 0, 0]])


def test_a_position_sees_itself_and_earlier_positions():
    np.testing.assert_array_equal(array(causal_mask(3))[0], [[1, 0, 0], [1, 1, 0], [1, 1, 1]])


@pytest.mark.parametrize(
    ("neighbourhood", "causal", "seen"),
    [
        (1, False, [0]),
        (1, True, [0]),
        (4, False, [-2, -1, 0, 1]),
        (5, False, [-2, -1, 0, 1, 2]),
        (4, True, [-3, -2, -1, 0]),
    ],
)
def test_a_neighbourhood_of_r_has_r_positions(neighbourhood, causal, seen):
    mask = array(local_mask(20, neighbourhood, causal))[0]
    np.testing.assert_array_equal(np.flatnonzero(mask[10]) - 10, seen)


def test_masks_may_have_two_three_or_four_axes():
    assert over_heads(None) is None
    assert tuple(over_heads(ops.ones((2, 5))).shape) == (2, 1, 1, 5)
    assert tuple(over_heads(ops.ones((2, 4, 5))).shape) == (2, 1, 4, 5)
    assert tuple(over_heads(ops.ones((2, 3, 4, 5))).shape) == (2, 3, 4, 5)
    with pytest.raises(ValueError, match=r"Received: a mask of shape \(5,\)"):
        over_heads(ops.ones((5,)))
