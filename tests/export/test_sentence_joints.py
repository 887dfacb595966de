"""Graphs join the translations of sentences as Python does."""

import random

import pytest
import tensorflow as tf

from pipelines import graph_sentences
from pipelines.sentences import split_sentences
from t2t_keras.export.sentence_joints import joined_sentences, sentences_of, with_codes
from t2t_keras.export.signature_constants import NO_SCORE
from t2t_keras.translating import sentences as in_python
from t2t_keras.translating.translator import Translation

TEXTS = ["A b. C d!\n\nE f. ", "你好。很好。 X.", "", "One. Two.", "あ。い。"]
RANKS = 3


def test_texts_are_split_unless_they_shall_be_whole():
    split = [True, True, True, False, True]
    sentences, separators, text_of = sentences_of(
        tf.constant(TEXTS), tf.constant(split), graph_sentences.split_sentences
    )
    expected = [
        (index, sentence, separator)
        for index, text in enumerate(TEXTS)
        for sentence, separator in zip(*with_last(text, split[index]), strict=True)
    ]
    found = zip(text_of.numpy(), sentences.numpy(), separators.numpy(), strict=True)
    assert [(index, one.decode(), after.decode()) for index, one, after in found] == expected


def with_last(text, split=True):
    sentences, separators = (split_sentences if split else in_python.whole)(text)
    return sentences, [*separators, ""]


def test_language_codes_are_repeated_as_in_python():
    draw, codes, text_of, expected = random.Random(1), [], [], []
    for index in range(60):
        sentences = [draw.choice(["", "", ">>de<<", ">>fr<<"]) + "x" for _ in range(index % 5)]
        codes += [sentence[:-1] for sentence in sentences]
        text_of += [index] * len(sentences)
        expected += in_python.with_codes(sentences, lambda each: (each[:-1], each[-1:]))
    sentences = tf.constant([f"{code}x" for code in codes])
    found = with_codes(sentences, tf.constant(codes), tf.constant(text_of, tf.int32))
    assert [each.decode() for each in found.numpy()] == expected
    nothing = tf.constant([], tf.string)
    assert with_codes(nothing, nothing, tf.constant([], tf.int32)).shape == 0


def test_translations_of_sentences_are_joined_as_in_python():
    draw = random.Random(0)
    words = ["x", "ｱ", "好", "", "é b", "。"]
    rows, separators, text_of, expected = [], [], [], []
    for index, text in enumerate(TEXTS * 20):
        sentences, after = with_last(text)
        translated = [
            [
                Translation(draw.choice(words), -draw.random(), [])
                for _ in range(draw.randint(1, RANKS))
            ]
            for _ in sentences
        ]
        rows += translated
        separators += after
        text_of += [index] * len(sentences)
        expected.append(in_python.joined_sentences(translated, after[:-1]))
    padded = [row + [Translation("", NO_SCORE, [])] * (RANKS - len(row)) for row in rows]
    outputs = {
        "translations": tf.constant([[each.text for each in row] for row in padded]),
        "scores": tf.constant([[each.score for each in row] for row in padded]),
    }
    outputs = joined_sentences(
        outputs, tf.constant(separators), tf.constant(text_of), len(expected)
    )
    translations, scores = (outputs[name].numpy() for name in ("translations", "scores"))
    for row, texts, of_row in zip(expected, translations, scores, strict=True):
        missing = RANKS - len(row)
        assert [text.decode() for text in texts] == [each.text for each in row] + [""] * missing
        of_texts = [each.score for each in row] + [NO_SCORE] * missing
        assert of_row.tolist() == pytest.approx(of_texts)
