import numpy as np
import pytest

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.translating.translator import Translator


class Letters:
    """A tokenizer with a token for each letter; a space begins a word, "@" is a language code."""

    source = target = property(lambda self: self)

    begins_word = np.arange(0x4000) == ord(" ")

    def lead(self, ids):
        return int("@" in map(chr, ids[:1]))

    def split_code(self, text):
        return (text[:1], text[1:]) if text[:1] == "@" else ("", text)

    def pieces(self, ids):
        return [chr(id) for id in ids]

    def encode(self, texts):
        return [np.array([ord(letter) for letter in text], "int32") for text in texts]

    def decode(self, sequences):
        return ["".join(chr(id) for id in ids if id > 2) for ids in sequences]


def copying(shapes, inputs=None):
    """Returns a fake search with the source as best and its first letter as second hypothesis.

    The third hypothesis is missing.
    """

    def decode(source, indices, prefix):
        shapes.append(source.shape)
        if inputs is not None:
            inputs.append((indices, prefix))
        assert all(2 in row for row in source), "every source has an end"
        first_letter = np.where(np.arange(source.shape[1]) < 1, source, 0)
        tokens = np.stack([source, first_letter, 0 * source], axis=1)
        return Hypotheses(tokens, np.tile([-1.0, -2.0, -np.inf], (len(source), 1)))

    return decode


def test_translations_come_back_in_the_order_of_the_texts():
    texts = ["x" * (7 * n % 30) + str(n) for n in range(50)]
    shapes, progress = [], []
    results = Translator(Letters(), copying(shapes), 64).translate(texts, progress.append)
    assert [[best[:2] for best in each] for each in results] == [
        [(text, -1.0), (text[0], -2.0)] for text in texts
    ]
    assert progress == sorted(progress) and progress[-1] == 50
    assert all(rows == 1 or rows * width <= 2 * 64 for rows, width in shapes)
    assert len({width for _, width in shapes}) <= 5, "few widths are compiled"
    assert shapes[0][1] == max(width for _, width in shapes), "longest first"


@pytest.mark.parametrize("texts", [[], [""], ["", "a", ""]])
def test_the_translation_of_an_empty_text_is_empty(texts):
    results = Translator(Letters(), copying([])).translate(texts)
    assert [best[0].text for best in results] == texts


def test_a_text_longer_than_a_batch_is_its_own_batch():
    shapes, text = [], "y" * 200
    results = Translator(Letters(), copying(shapes), 64).translate(["ab", text])
    assert results[1][0].text == text
    assert shapes[0][0] == 1


def test_a_text_that_is_too_long_is_translated_in_parts():
    texts = ["short", "many words " * 40, "w" * 100, ""]
    shapes = []
    results = Translator(Letters(), copying(shapes), 64, longest=32).translate(texts)
    assert max(width for _, width in shapes) == 32
    assert [best[0].text for best in results][::3] == ["short", ""]
    assert results[1][0].text.split() == texts[1].split(), "cut between words only"
    assert results[2][0].text.replace(" ", "") == texts[2], "cut anywhere if there is one word"
    assert results[1][0].score == -len(results[1][0].parts) < -1


def test_a_text_or_part_for_which_the_search_finds_nothing_is_empty():
    def decode(source, indices, prefix):
        tokens, scores = copying([])(source, indices, prefix)
        return Hypotheses(tokens, np.where((source == ord("x")).any(1)[:, None], -np.inf, scores))

    translator = Translator(Letters(), decode, longest=4)
    for text, translation in (("x", ""), ("ab", "ab"), ("abcxxxde", "abc de")):
        (results,) = translator.translate([text])
        assert results[0].text == translation


def test_each_text_has_its_own_prefix_and_index():
    inputs = []
    texts, prefixes = ["aaaa", "b", "cc"], ["A", "", "CC"]
    translator = Translator(Letters(), copying([], inputs))
    translator.translate(texts, prefixes=prefixes, first_index=10)
    ((indices, prefix),) = inputs
    by_index = {
        index: "".join(map(chr, row[row > 0])) for index, row in zip(indices, prefix, strict=True)
    }
    assert by_index == {10: "A", 11: "", 12: "CC"}


def test_without_prefixes_the_search_gets_none():
    inputs = []
    Translator(Letters(), copying([], inputs)).translate(["a", "b"])
    assert inputs[0][1] is None


def at_bars(text):
    """Splits a text at each bar; the bar stays the separator, except for one after a "。"."""
    sentences = text.split("|")
    return sentences, ["" if each.endswith("。") else "\n|" for each in sentences[:-1]]


def test_sentences_are_translated_by_themselves_and_joined_by_their_separators():
    shapes, inputs = [], []
    translator = Translator(Letters(), copying(shapes, inputs), longest=16)
    texts = ["one sentence", "ab|c d|e", "", "x。|y。|", "many words " * 4 + "|end"]
    results = translator.translate(texts, prefixes=["p"] * 5, first_index=7, split=at_bars)
    assert [best.text for best, *_ in results[:4]] == ["one sentence", "ab\n|c d\n|e", "", "x。y。"]
    assert results[4][0].text.split() == ["many", "words"] * 4 + ["|end"], "cut in parts"
    best, second = results[1]
    assert (second.text, best.score, second.score) == ("a\n|c\n|e", -3.0, -6.0)
    assert ["".join(map(chr, ids[:-1])) for ids, _ in best.parts] == ["ab", "c d", "e"]
    indices = [index for batch, _ in inputs for index in batch]
    assert indices.count(8) == 3, "the sentences of a text share its random numbers"
    begun = [row[0] for _, prefix in inputs if prefix is not None for row in prefix]
    assert begun.count(ord("p")) == 4, "only the first sentence of a text has the prefix"


def test_a_space_follows_a_sentence_whose_source_had_none_after_it():
    def decode(source, indices, prefix):
        return Hypotheses(np.where(source == ord("。"), ord("."), source)[:, None], [[0.0]] * 2)

    (results,) = Translator(Letters(), decode).translate(["x。|y。"], split=at_bars)
    assert results[0].text == "x. y."


def test_line_breaks_in_a_translation_become_spaces_when_sentences_are_joined():
    def decode(source, indices, prefix):
        return Hypotheses(np.where(source == ord("x"), ord("\n"), source)[:, None], [[0.0]] * 2)

    (results,) = Translator(Letters(), decode).translate(["axb|cxd"], split=at_bars)
    assert results[0].text == "a b\n|c d"


def sources_of(results):
    return ["".join(map(chr, ids[:-1])) for best, *_ in results for ids, _ in best.parts]


def test_a_language_code_begins_each_sentence_and_part_until_the_next_code():
    translator = Translator(Letters(), copying([]), longest=8)
    texts = ["@a|b|@@c|d", "a|@b|c", "@many words", "a@|b", "@|a", "@"]
    results = translator.translate(texts, split=at_bars)
    assert sources_of(results) == [
        *("@a", "@ b", "@@c", "@ d"),
        *("a", "@b", "@ c"),
        *("@many", "@ words"),
        *("a@", "b"),
        "@ a",
    ]
    assert results[5][0].text == "", "a code alone is no text"
