"""Word alignments of translations, computed from the attention between pieces."""

import numpy as np
import tensorflow as tf

from t2t_keras.decoding.alignment import attention_between
from t2t_keras.runs.pieces_of_words import pieces_of_words
from t2t_keras.visualization.heads import joined


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

    def align(translation):
        pairs, source_words, target_words = [], 0, 0  # numbers of words in earlier parts
        for source, target in translation.parts:
            source, target = np.array(source, "int32"), np.array(target, "int32")
            weights = attention(source[None], target[None])[0].numpy()  # [target, source] pieces
            weights = between_words(tokenizer, source, target, weights)
            targets, sources = weights.shape
            if weights.size:
                best = weights.argmax(axis=1)
                pairs += [(int(i) + source_words, j + target_words) for j, i in enumerate(best)]
            source_words, target_words = source_words + sources, target_words + targets
        return sorted(pairs)

    return align


def between_words(tokenizer, source, target, weights):
    """Returns the weights `[..., target words, source words]` of weights between pieces.

    Args:
        tokenizer: the vocabulary's tokenizer.
        source: ids with their end.
        target: ids, with their end unless the output was cut off.
        weights: `[..., target, source]`.
    """
    read, is_read = pieces_of_words(tokenizer.source, source)
    written, is_written = pieces_of_words(tokenizer.target, target)
    return joined(weights, written, read)[..., is_written, :][..., is_read]
