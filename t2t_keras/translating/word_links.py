"""Links between words, found in attention weights between pieces. It loads no TensorFlow."""

from t2t_keras.translating.pieces_of_words import pieces_of_words
from t2t_keras.visualization.heads import joined


def word_aligner(tokenizer, weights, ids=lambda part: part):
    """Returns a function from a `Translation` to its (source word, target word) index pairs.

    Args:
        tokenizer: the vocabulary's tokenizer.
        weights: function from a part of a translation to weights `[target, source]`.
        ids: function from a part to the ids of the source and of its translation, with their ends.
            By default, these are the part.
    """

    def align(translation):
        pairs, source_words, target_words = [], 0, 0  # numbers of words in earlier parts
        for part in translation.parts:
            words = between_words(tokenizer, *ids(part), weights(part))
            targets, sources = words.shape
            if words.size:
                best = words.argmax(axis=1)
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
