import numpy as np
import pytest
from support.runs.untrained import learned_tokenizer

from t2t_keras.runs.report import calibration_of
from t2t_keras.translating.translator import Translation
from t2t_keras.translating.words import Words, words_of


def translation(*parts):
    """Returns a `Translation` of three words, with a part for each text."""
    tokenizer = learned_tokenizer()
    parts = [(np.array([2]), np.append(ids, 2)) for ids in tokenizer.encode(parts)]
    return Translation("", 0.0, parts, words_of(tokenizer, parts), [0.95, 0.95, 0.25])


def test_words_of_all_parts_are_compared_with_the_words_of_their_reference():
    translations = [translation("Der Hund", "schläft."), translation("Die die Katze", "")]
    references = ["Der Hund aß.", "die Katze die"]
    result = calibration_of(learned_tokenizer(), translations, references)
    assert [(each.low, each.words, each.right) for each in result.bins] == [
        (0.2, 2, 0.5),
        (0.9, 4, 0.75),
    ]
    assert result.error == pytest.approx((2 * 0.25 + 4 * 0.2) / 6)


def test_no_words_have_no_calibration():
    empty = Translation("", 0.0, [], Words([], []), [])
    assert calibration_of(learned_tokenizer(), [empty], ["Der Hund"]) is None
    assert calibration_of(learned_tokenizer(), [], []) is None
