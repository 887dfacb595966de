"""Sentences that are too long are divided where a reader would divide them."""

from types import SimpleNamespace

import numpy as np
import pytest

from t2t_keras.translating.required_phrases import phrases_of
from t2t_keras.translating.sentences import halves_of, parts_of, parts_with_phrases


class Words:
    """A tokenizer with an id for each word or mark; marks do not begin a word, "@" is a code."""

    def __init__(self, text):
        self.texts = text.split()
        self.begins_word = np.array([text.isalpha() for text in self.texts])

    def lead(self, ids):
        return int(self.pieces(ids[:1]) == ["@"])

    def pieces(self, ids):
        return [self.texts[id] for id in ids]

    def decode(self, sequences):
        return [" ".join(self.pieces(ids)) for ids in sequences]


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


class Numbered:
    """A glossary: each number must occur, and "1 2" as "12"."""

    def matches_in(self, text):
        targets = [*filter(str.isdigit, text.split()), *["12"] * ("1 2" in text)]
        return SimpleNamespace(targets=lambda: targets)


class Encoder:
    """Stands for a `PhraseEncoder`: more than two phrases are long."""

    def are_long(self, phrases):
        return len(phrases) > 2


def divided(text, required=(), longest=20):
    words = Words(text)
    words.begins_word[:] = True
    ids, matches = np.arange(len(words.texts)), Numbered().matches_in(text)
    phrases = phrases_of(required, matches)
    parts = parts_with_phrases(ids, phrases, matches, Numbered(), words, longest, Encoder())
    return [(" ".join(words.pieces(part)), phrases) for part, phrases, _ in parts]


def test_a_sentence_is_divided_until_the_phrases_of_each_part_fit():
    assert divided("a b") == [("a b", [])]
    assert divided("a 3 b", ["x"]) == [("a 3 b", ["x", "3"])]
    assert divided("a 3 b 4 c 5 d") == [("a 3 b", ["3"]), ("4 c 5 d", ["4", "5"])]
    assert divided("a 3 b 4 c 5 d", ["x"])[0] == ("a 3 b", ["3", "x"])


def test_the_first_part_has_the_phrases_that_belong_to_no_part():
    assert divided("a 1 2 b", longest=2) == [("a 1", ["1", "12"]), ("2 b", ["2"])]


def test_nothing_can_be_required_of_an_empty_text():
    assert divided("") == []
    with pytest.raises(ValueError, match=r"is empty, so it cannot contain 'x'"):
        divided("", ["x"])
