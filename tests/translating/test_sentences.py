"""Sentences that are too long are divided where a reader would divide them."""

from types import SimpleNamespace

import numpy as np
import pytest

from t2t_keras.translating.sentences import parts_of
from t2t_keras.translating.texts import Text


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


def divided(text, required=(), longest=20):
    words = Words(text)
    words.begins_word[:] = True
    ids, matches = np.arange(len(words.texts)), Numbered().matches_in(text)
    request, tokenizer = SimpleNamespace(require=required), SimpleNamespace(source=words)
    given = Text(request, tokenizer, None, Numbered(), [text], [], [matches], None)
    parts = given.parts(0, ids, longest)
    return [(" ".join(words.pieces(part)), phrases) for part, phrases, _ in parts]


def test_each_part_has_the_phrases_of_its_words():
    assert divided("a b") == [("a b", [])]
    assert divided("a 3 b", ["x"]) == [("a 3 b", ["x", "3"])]
    assert divided("a 3 b 4 c 5", longest=3) == [("a 3 b", ["3"]), ("4 c 5", ["4", "5"])]
    assert divided("a 3 3 4", ["x", "3"], 2) == [("a 3", ["3", "x"]), ("3 4", ["3", "4"])]


def test_the_first_part_has_the_phrases_that_belong_to_no_part():
    assert divided("a 1 2 b", longest=2) == [("a 1", ["1", "12"]), ("2 b", ["2"])]


def test_nothing_can_be_required_of_an_empty_text():
    assert divided("") == []
    with pytest.raises(ValueError, match=r"is empty, so it cannot contain 'x'"):
        divided("", ["x"])
