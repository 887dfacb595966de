import numpy as np
import pytest

from t2t_keras.decoding.hypotheses import Hypotheses
from t2t_keras.decoding.translator import Translator


class Letters:
    """A token for each letter; a space begins a word."""

    begins_word = np.arange(200) == ord(" ")

    def encode(self, texts):
        return [np.array([ord(letter) for letter in text], "int32") for text in texts]

    def decode(self, sequences):
        return ["".join(chr(id) for id in ids if id > 2) for ids in sequences]


def copying(shapes, asked=None):
    """Finds the source itself, and on the second place its beginning; no third."""

    def decode(source, numbers, prefix):
        shapes.append(source.shape)
        if asked is not None:
            asked.append((numbers, prefix))
        assert all(2 in row for row in source), "every source ends with an end"
        beginning = np.where(np.arange(source.shape[1]) < 1, source, 0)
        tokens = np.stack([source, beginning, 0 * source], axis=1)
        return Hypotheses(tokens, np.tile([-1.0, -2.0, -np.inf], (len(source), 1)))

    return decode


def test_translations_come_back_in_the_order_of_the_texts():
    texts = ["x" * (7 * n % 30) + str(n) for n in range(50)]
    shapes, seen = [], []
    found = Translator(Letters(), copying(shapes), 64).translate(texts, seen.append)
    assert [[best[:2] for best in each] for each in found] == [
        [(text, -1.0), (text[0], -2.0)] for text in texts
    ]
    assert seen == sorted(seen) and seen[-1] == 50
    assert all(rows == 1 or rows * width <= 2 * 64 for rows, width in shapes)
    assert len({width for _, width in shapes}) <= 5, "few widths, so that few graphs are made"
    assert shapes[0][1] == max(width for _, width in shapes), "the longest first"


@pytest.mark.parametrize("texts", [[], [""], ["", "a", ""]])
def test_nothing_is_translated_to_nothing(texts):
    found = Translator(Letters(), copying([])).translate(texts)
    assert [best[0].text for best in found] == texts


def test_a_text_longer_than_a_batch_is_one_of_its_own():
    shapes = []
    text = "y" * 200
    assert Translator(Letters(), copying(shapes), 64).translate(["ab", text])[1][0][0] == text
    assert shapes[0][0] == 1


def test_a_text_that_is_too_long_is_translated_in_parts():
    texts = ["short", "many words " * 40, "w" * 100, ""]
    shapes = []
    found = Translator(Letters(), copying(shapes), 64, longest=32).translate(texts)
    assert max(width for _, width in shapes) == 32
    assert [best[0].text for best in found][::3] == ["short", ""]
    assert found[1][0].text.split() == texts[1].split(), "cut between words only"
    assert found[2][0].text.replace(" ", "") == texts[2], "and elsewhere if there are none"
    assert found[1][0].score == -len(found[1][0].parts) < -1


def test_prefixes_and_numbers_go_with_their_texts():
    asked = []
    texts, prefixes = ["aaaa", "b", "cc"], ["A", "", "CC"]
    Translator(Letters(), copying([], asked)).translate(texts, prefixes=prefixes, first=10)
    ((numbers, prefix),) = asked
    rows = {
        number: "".join(map(chr, row[row > 0])) for number, row in zip(numbers, prefix, strict=True)
    }
    assert rows == {10: "A", 11: "", 12: "CC"}
    Translator(Letters(), copying([], asked)).translate(texts)
    assert asked[-1][1] is None
