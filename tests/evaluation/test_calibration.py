import numpy as np
import pytest

from t2t_keras.evaluation.calibration import Bin, calibration, right_words


def test_words_are_grouped_by_confidence_and_the_error_is_weighted_by_words():
    result = calibration([0.0, 0.05, 0.7, 0.75, 1.0, 0.95], [False, True, True, False, True, True])
    assert [each.low for each in result.bins] == [0.0, 0.7, 0.9] and result.words == 6
    assert [each.words for each in result.bins] == [2, 2, 2]
    means = [(each.confidence, each.right) for each in result.bins]
    np.testing.assert_allclose(means, [(0.025, 0.5), (0.725, 0.5), (0.975, 1.0)])
    assert result.error == pytest.approx((0.475 + 0.225 + 0.025) / 3)


def test_full_confidence_belongs_to_the_last_bin_and_no_word_has_no_calibration():
    assert calibration([1.0], [True]).bins == [Bin(0.9, 1.0, 1, 1.0, 1.0)]
    assert calibration([1.0], [True]).error == 0.0
    assert calibration([], []) is None


def test_a_word_is_right_as_often_as_the_reference_has_it():
    right = right_words(["a", "b", "a", "a", "c"], ["a", "c", "d", "a"])
    assert right == [True, False, True, False, True]
    assert right_words([], ["a"]) == [] and right_words(["a"], []) == [False]
