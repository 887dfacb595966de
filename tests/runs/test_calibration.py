import numpy as np
import pytest
from untrained import learned_tokenizer

from t2t_keras.runs.calibration import calibration_of
from t2t_keras.translating.translator import Translation


class FixedRun:
    """A run whose words have the same confidence in every translation."""

    def __init__(self, *confidence):
        self.values = confidence

    def tokenizer(self):
        return learned_tokenizer()

    def confidence(self, weights):
        return lambda translations: [list(self.values) for _ in translations]


def translation(*parts):
    """Returns a `Translation` with a part for each text."""
    ids = learned_tokenizer().encode(parts)
    return Translation("", 0.0, [([2], np.append(each, 2)) for each in ids])


def test_words_of_all_parts_are_compared_with_the_words_of_their_reference():
    translations = [translation("Der Hund", "schläft."), translation("Die die Katze", "")]
    references = ["Der Hund aß.", "die Katze die"]
    result = calibration_of(FixedRun(0.95, 0.95, 0.25), translations, references)
    assert [(each.low, each.words, each.right) for each in result.bins] == [
        (0.2, 2, 0.5),
        (0.9, 4, 0.75),
    ]
    assert result.error == pytest.approx((2 * 0.25 + 4 * 0.2) / 6)


def test_no_words_have_no_calibration():
    assert calibration_of(FixedRun(), [Translation("", 0.0, [])], ["Der Hund"]) is None
    assert calibration_of(FixedRun(), [], []) is None
