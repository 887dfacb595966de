"""The words of texts and translations: their pieces, the links between them, confidence."""

from typing import NamedTuple

import numpy as np

from pipelines.text.normalization import SPACE_SIGN
from pipelines.tokenizers import words
from t2t_keras.visualization.heads import joined


def pieces_of_words(tokenizer, ids):
    """Groups the pieces of a text by word. Marks and spaces between words are separate groups.

    Args:
        tokenizer: the tokenizer of the language.
        ids: ids of a text, with or without the end token.

    Returns:
        An array with the number of pieces in each group, and booleans: whether a group is a word.
    """
    _, sizes, is_word = groups_of(tokenizer, ids)
    return sizes, is_word


def groups_of(tokenizer, ids):
    """Returns the text of each group of pieces, and the results of `pieces_of_words`."""
    groups = words(tokenizer, ids)
    sizes = np.array([size for _, size in groups], "int64")
    firsts = np.asarray(ids)[np.cumsum(sizes) - sizes]
    marks = tokenizer.marks
    is_word = [
        text != SPACE_SIGN and first not in marks
        for (text, _), first in zip(groups, firsts.tolist(), strict=True)
    ]
    return [text for text, _ in groups], sizes, np.array(is_word, bool)


def texts_of_words(tokenizer, ids):
    """Returns the text of each word."""
    texts, _, is_word = groups_of(tokenizer, ids)
    return [text for text, chosen in zip(texts, is_word, strict=True) if chosen]


class Words(NamedTuple):
    """The words of a text and of its translation, and the links between them.

    Args:
        source, target: texts of the words.
        pairs: sorted (source word, target word) indices. None: the words are not aligned.
    """

    source: list
    target: list
    pairs: list | None = None


def words_of(tokenizer, parts, weights=None):
    """Returns the `Words` of a translation.

    Args:
        tokenizer: the vocabulary's tokenizer.
        parts: (source ids, translation ids) of each part, including the end tokens.
        weights: attention weights `[target, source]` of each part. None: words are not aligned.
    """
    read, written, pairs = [], [], []
    for index, (source, target) in enumerate(parts):
        if weights is not None:
            links = linked(between_words(tokenizer, source, target, weights[index]))
            pairs += [(i + len(read), j + len(written)) for i, j in links]
        read += texts_of_words(tokenizer.source, source)
        written += texts_of_words(tokenizer.target, target)
    return Words(read, written, None if weights is None else sorted(pairs))


def linked(weights):
    """Links each target word to its best source word, given weights `[target, source]`."""
    if not weights.size:
        return []
    return [(int(source), target) for target, source in enumerate(weights.argmax(axis=1))]


def between_words(tokenizer, source, target, weights):
    """Converts weights between pieces to weights `[..., target words, source words]`.

    Args:
        tokenizer: the vocabulary's tokenizer.
        source: ids, including the end token.
        target: ids, including the end token unless the output was cut off.
        weights: `[..., target, source]`.
    """
    read, is_read = pieces_of_words(tokenizer.source, source)
    written, is_written = pieces_of_words(tokenizer.target, target)
    return joined(weights, written, read)[..., is_written, :][..., is_read]


def weights_by_order(source, target):
    """Returns weights `[target, source]` that link pieces in order, for parts too long to align."""
    weights, places = np.zeros((len(target), len(source))), np.arange(len(target))
    weights[places, places * len(source) // len(target)] = 1
    return weights


def confidence_of_words(tokenizer, ids, token_log_p):
    """Returns the confidence of each word: the smallest probability of its pieces.

    Args:
        tokenizer: the tokenizer of the target language.
        ids: ids of a translation.
        token_log_p: log P of each id.
    """
    sizes, is_word = pieces_of_words(tokenizer, ids)
    if not len(sizes):
        return []
    token_log_p = np.asarray(token_log_p, "float64")
    lowest = np.exp(np.minimum.reduceat(token_log_p, np.cumsum(sizes) - sizes))
    return lowest[is_word].tolist()
