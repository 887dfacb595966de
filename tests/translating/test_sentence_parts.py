"""Sentences that are too long are divided where a reader would divide them."""

import numpy as np
import pytest

from t2t_keras.translating.sentence_parts import halves_of, parts_of


class Words:
    """A tokenizer with an id for each word or mark; marks do not begin a word, "@" is a code."""

    def __init__(self, text):
        self.texts = text.split()
        self.begins_word = np.array([text.isalpha() for text in self.texts])

    def lead(self, ids):
        return int(self.pieces(ids[:1]) == ["@"])

    def pieces(self, ids):
        return [self.texts[id] for id in ids]


@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("a b c d", ["a b", "c d"]),
        ("a b , c d . e f", ["a b , c d .", "e f"]),
        ("a b , c d e f", ["a b ,", "c d e f"]),
        ("a . b c d e f g h", ["a . b c", "d e f g h"]),
        ("a b c d e f g . h", ["a b c d", "e f g . h"]),
        ("@ a b c d", ["@ a b", "@ c d"]),
        ("a / / / /", ["a /", "/ / /"]),
        ("a", ["a"]),
        ("@ a", ["@ a"]),
    ],
)
def test_a_part_is_cut_near_its_middle_after_a_mark_or_between_words(text, halves):
    words = Words(text)
    ids = np.arange(len(words.texts))
    found = halves_of(ids, words)
    assert [" ".join(words.pieces(half)) for half in found] == halves


def test_parts_are_as_long_as_possible_and_begin_with_the_lead():
    words = Words("@ a b c / / / / / d e")
    found = parts_of(np.arange(11), words, 4)
    expected = ["@ a b", "@ c / /", "@ / / /", "@ d e"]
    assert [" ".join(words.pieces(part)) for part in found] == expected
    assert parts_of(np.arange(1), words, 4) == [], "a lead alone has no text"
