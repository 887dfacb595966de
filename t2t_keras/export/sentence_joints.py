"""The sentences of texts in a graph, and the joints between their translations.

It is the graph version of `decoding/sentences.py`.
"""

import functools
import sys
import unicodedata

import tensorflow as tf

from t2t_keras.export.signature_constants import NO_SCORE


def sentences_of(texts, split, split_sentences):
    """Splits texts into sentences.

    Args:
        texts: strings `[batch]`.
        split: booleans `[batch]`: whether the text is split. Otherwise, it is one sentence.
        split_sentences: function from texts to their sentences and the separators after these, as
            ragged tensors.

    Returns:
        The sentences of all texts, the separator after each, and the index of its text.
    """
    sentences, separators = split_sentences(tf.where(split, texts, ""))
    text_of = tf.cast(sentences.value_rowids(), tf.int32)
    whole = tf.gather(texts, text_of)
    sentences = tf.where(tf.gather(split, text_of), sentences.flat_values, whole)
    return sentences, separators.flat_values, text_of


def with_codes(sentences, codes, text_of):
    """Puts a language code before each sentence that has none: the last one before it in the text.

    Args:
        sentences: strings `[sentences]`.
        codes: the language code at the beginning of each sentence, "" if there is none.
        text_of: for each sentence, the index of its text, ascending.
    """
    places = tf.concat([[-1], tf.cast(tf.where(codes != "")[:, 0], tf.int32)], axis=0)
    index = tf.range(tf.size(sentences))
    last = tf.gather(places, tf.searchsorted(places, index, side="right") - 1)
    coded = tf.maximum(last, 0)
    applies = (last >= 0) & (last < index) & (tf.gather(text_of, coded) == text_of)
    before = tf.strings.join([tf.gather(codes, coded), sentences], " ")
    return tf.where(applies, before, sentences)


def joined_sentences(outputs, separators, text_of, count):
    """Joins the translations of sentences by rank: all best ones, all second-best ones, …

    Args:
        outputs: `translations` and `scores` `[sentences, n]`, as `joined` returns them.
        separators: the separator after each sentence, "" after the last one of a text.
        text_of: for each sentence, the index of its text, ascending.
        count: number of texts.

    Returns:
        `translations` and `scores`, both `[count, n]`. A text has as many translations as its
        sentence with the fewest; their scores are the sums of the sentences' scores.
    """
    translations, scores = outputs["translations"], outputs["scores"]
    exists = tf.cast(scores != NO_SCORE, tf.int32)
    exists = tf.math.unsorted_segment_min(exists, text_of, count) > 0
    is_last = tf.concat([text_of[1:] != text_of[:-1], [True]], axis=0)[: tf.size(text_of)]
    space = tf.where(tf.strings.regex_full_match(translations, ends_wide()), "", " ")
    space = tf.where(translations == "", "", space)
    after = tf.where((separators == "")[:, None], space, separators[:, None])
    with_space = tf.strings.join([translations, tf.where(is_last[:, None], "", after)])
    texts = tf.strings.unsorted_segment_join(with_space, text_of, count)
    scores = tf.math.unsorted_segment_sum(tf.cast(scores, tf.float64), text_of, count)
    return {
        "translations": tf.where(exists, texts, ""),
        "scores": tf.where(exists, tf.cast(scores, tf.float32), NO_SCORE),
    }


@functools.cache
def ends_wide():
    """Returns a regular expression for texts that end with a wide character, such as Chinese."""
    ranges, begin = [], None
    for code in range(sys.maxunicode + 2):
        wide = code <= sys.maxunicode and is_wide(chr(code))
        if wide and begin is None:
            begin = code
        elif not wide and begin is not None:
            ranges.append(f"\\x{{{begin:x}}}-\\x{{{code - 1:x}}}")
            begin = None
    return f"(?s).*[{''.join(ranges)}]"


def is_wide(character):
    """Returns whether a character is as wide as a Chinese one, so that no space follows it."""
    return unicodedata.east_asian_width(character) in "FWH"
