"""Word alignments of translations, computed from the attention between pieces."""

import numpy as np
import tensorflow as tf

from pipelines.tokenizers import words
from t2t_keras.decoding.alignment import attention_between
from t2t_keras.translating.pieces_of_words import pieces_of_words
from t2t_keras.translating.word_links import word_aligner


def aligner(model, tokenizer, choice=None):
    """Returns a function from a `Translation` to its (source word, target word) index pairs.

    Args:
        model: a `Transformer`, or an `Ensemble`, whose first model is used.
        tokenizer: the vocabulary's tokenizer.
        choice: an `AlignmentHead`. None: the default one.
    """
    model = getattr(model, "models", [model])[0]
    ids = tf.TensorSpec([None, None], tf.int32)

    @tf.function(input_signature=[ids, ids], autograph=False)
    def attention(source, target):
        return attention_between(model, source, target, choice)

    def weights(part):
        source, target = (np.array(ids, "int32")[None] for ids in part)
        return attention(source, target)[0].numpy()

    return word_aligner(tokenizer, weights)


def words_of(tokenizer, translation):
    """Returns the source words and the target words that an `aligner` counts, as two lists."""
    read, written = [], []
    for source, target in translation.parts:
        read += word_texts(tokenizer.source, source)
        written += word_texts(tokenizer.target, target)
    return read, written


def word_texts(tokenizer, ids):
    _, are_words = pieces_of_words(tokenizer, ids)
    groups = words(tokenizer, ids)
    return [text for (text, _), is_word in zip(groups, are_words, strict=True) if is_word]
