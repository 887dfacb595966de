"""Required phrases are encoded in a graph as `PhraseEncoder` encodes them, and refused as by it."""

import re

import pytest
import tensorflow as tf
from toy_tokenizers import toy_tokenizer

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.required_phrases import PhraseIds
from t2t_keras.export.signature_constants import REQUIRED_LONGEST
from t2t_keras.runs.exports import languages
from t2t_keras.translating.required_phrases import PhraseEncoder


def encoded(texts, kind="bpe without bytes", **settings):
    _, target = languages(toy_tokenizer(kind))
    return PhraseIds(target, **settings)(tf.constant(texts))


@pytest.mark.parametrize("kind", ["bpe", "word_pieces"])
def test_phrases_have_the_ids_that_the_run_gives_them(kind):
    texts = ["Der  Hund\tdie alte Katze", "", "\t Haus \t\t"]
    phrases = [["Der Hund", "die alte Katze"], [], ["Haus"]]
    encoder = PhraseEncoder(toy_tokenizer(kind), SearchConfig())
    assert encoded(texts, kind).to_list() == [encoder.ids_of(each, []) for each in phrases]


@pytest.mark.parametrize(
    ("phrase", "settings", "message"),
    [
        ("日本", {}, "must be writable with the vocabulary of the model. Received: "),
        ("Hund", {"banned": [*range(4, 500)]}, "must not contain banned pieces. Received: Hund"),
    ],
)
def test_phrases_that_no_translation_can_contain_are_refused(phrase, settings, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        encoded(["", phrase], **settings)


def test_a_vocabulary_that_does_not_show_where_words_begin_accepts_no_phrases():
    _, target = languages(toy_tokenizer("bpe"))
    phrases = PhraseIds(target._replace(ends_phrase=None))
    assert phrases(tf.constant(["", " "])).to_list() == [[], []]
    with pytest.raises(tf.errors.InvalidArgumentError, match="do not show where words begin"):
        phrases(tf.constant(["", "Hund"]))


@pytest.mark.parametrize(
    ("longest", "phrases", "prefix", "fits"),
    [
        (None, REQUIRED_LONGEST, 5, True),
        (None, REQUIRED_LONGEST + 1, 0, False),
        (20, 15, 5, True),
        (20, 15, 6, False),
        (20, 0, 30, True),
    ],
)
def test_phrases_must_not_be_too_long(longest, phrases, prefix, fits):
    _, target = languages(toy_tokenizer("bpe"))
    encoder = PhraseIds(target, longest=longest)
    of_text = tf.ragged.constant([[], [[7]] * phrases], ragged_rank=2, dtype=tf.int32)
    prefixes = tf.ragged.constant([[], [8] * prefix], dtype=tf.int32)
    if fits:
        encoder.length_check(of_text, prefixes)
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"Received: {phrases}"):
            encoder.length_check(of_text, prefixes)
