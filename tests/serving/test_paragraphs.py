"""Texts of several sentences become several rows, whose answers are joined."""

import numpy as np
import pytest

from pipelines.sentences import split_sentences
from t2t_keras.export.signature_constants import NO_SCORE
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.paragraphs import Paragraphs

TEXTS = ["A b.\n\nC d! E f.", "G.", "你好。很好。"]


def strings(*values):
    return np.array([each if isinstance(each, bytes) else each.encode() for each in values], object)


def paragraphs(texts, split=True, queue=100):
    limits = Limits(queue=queue)
    return Paragraphs({"text": strings(*texts)}, split_sentences, split, limits)


def test_a_request_of_single_sentences_is_unchanged():
    inputs = {"text": strings("A b.", b"\xff c\n", ""), "beam": np.array([1, 2, 3])}
    divided = Paragraphs(inputs, split_sentences, True, Limits())
    assert divided.are_sentences and divided.inputs is inputs
    assert paragraphs(TEXTS, split=False).are_sentences


def test_each_sentence_is_a_row_with_the_options_of_its_text():
    prefix, beam = strings("x", "y", "z"), np.array([1, 2, 3])
    inputs = {"text": strings(*TEXTS), "prefix": prefix, "beam": beam}
    inputs["split"] = np.array([True, True, False])
    divided = Paragraphs(inputs, split_sentences, False, Limits())
    expected = strings("A b.", "C d!", "E f.", "G.", "你好。很好。")
    assert divided.inputs["text"].tolist() == expected.tolist()
    assert divided.inputs["prefix"].tolist() == strings("x", "", "", "y", "z").tolist()
    assert divided.inputs["beam"].tolist() == [1, 1, 1, 2, 3]
    assert not divided.inputs["split"].any(), "the graph need not split them again"


def test_a_language_code_is_before_each_sentence_of_its_text():
    def split_code(text):
        return (">>x<<", text[5:]) if text.startswith(">>x<<") else ("", text)

    texts = strings(">>x<< The dog. The cat!", "Two dogs. The cat.", ">>y<< The dog. The cat.")
    divided = Paragraphs({"text": texts}, split_sentences, True, Limits(), split_code)
    expected = [">>x<< The dog.", ">>x<< The cat!", "Two dogs.", "The cat."]
    expected += [">>y<< The dog.", "The cat."]
    assert divided.inputs["text"].tolist() == strings(*expected).tolist()


def test_a_text_with_required_phrases_is_not_split():
    inputs = {"text": strings(TEXTS[0], TEXTS[0]), "require": strings("x\ty", "")}
    divided = Paragraphs(inputs, split_sentences, True, Limits())
    assert divided.inputs["text"].tolist() == strings(TEXTS[0], "A b.", "C d!", "E f.").tolist()


def test_translations_are_joined_by_rank_with_the_separators_of_the_text():
    divided = paragraphs(TEXTS)
    missing = ("", NO_SCORE)
    rows = [
        [("a", -1), ("a2", -2)],
        [("c", -3), ("c2", -4)],
        [("e", -5), missing],
        [("g", -6), ("g2", -7)],
        [("好", -8), ("x", -9)],
        [("吗", -10), ("y", -11)],
    ]
    texts = np.array([[text.encode() for text, _ in row] for row in rows], object)
    scores = np.array([[score for _, score in row] for row in rows], "float32")
    outputs = divided.joined({"translations": texts, "scores": scores})
    expected = [["a\n\nc e", ""], ["g", "g2"], ["好吗", "x y"]]
    assert [[text.decode() for text in row] for row in outputs["translations"]] == expected
    np.testing.assert_allclose(outputs["scores"], [[-9, NO_SCORE], [-6, -7], [-18, -20]])
    best = divided.joined({"translations": texts[:, 0], "scores": scores[:, 0]})
    assert best["translations"].tolist() == outputs["translations"][:, 0].tolist()
    np.testing.assert_allclose(best["scores"], [-9, -6, -18])


def test_more_sentences_than_a_request_may_have_are_refused():
    with pytest.raises(Refusal, match="have 6 sentences; at most 5 are allowed") as caught:
        paragraphs(TEXTS, queue=10)
    assert caught.value.status == 413
