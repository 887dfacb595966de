"""The words of texts and translations: their pieces, the links between them, confidence."""

from typing import Any, NamedTuple

import numpy as np

from pipelines.text.normalization import SPACE_SIGN
from pipelines.tokenizers import words
from t2t_keras.visualization.heads import joined

LOST = 64  # maximum characters between a word and the previous word


class WordPieces(NamedTuple):
    """The pieces of a text, grouped by word. Marks and spaces between words are separate groups."""

    texts: list  # of each group
    sizes: Any  # array with the number of pieces in each group
    is_word: Any  # array of booleans: whether a group is a word

    @property
    def words(self):
        """The text of each word."""
        return [text for text, chosen in zip(self.texts, self.is_word, strict=True) if chosen]


def word_pieces(tokenizer, ids):
    """Returns the `WordPieces` of a text, given its ids with or without the end token."""
    groups = words(tokenizer, ids)
    sizes = np.array([size for _, size in groups], "int64")
    firsts = np.asarray(ids)[np.cumsum(sizes) - sizes]
    marks = tokenizer.marks
    is_word = [
        text != SPACE_SIGN and first not in marks
        for (text, _), first in zip(groups, firsts.tolist(), strict=True)
    ]
    return WordPieces([text for text, _ in groups], sizes, np.array(is_word, bool))


def located(text, words):
    """Returns the (start, end) of each word in a text.

    A word that the text does not contain, such as an unknown word, gets the text between the
    neighboring words.
    """
    spans, at = [], 0
    for word in words:
        word = word.strip()
        found = text.find(word, at, at + len(word) + LOST)
        spans.append((found, found + len(word)) if found >= 0 else None)
        at = at if found < 0 else found + len(word)
    following, end = [], len(text)
    for span in reversed(spans):
        following.append(end)
        end = span[0] if span else end
    at, filled = 0, []
    for span, end in zip(spans, reversed(following), strict=True):
        if span is None:  # without the spaces around it
            start = at + len(text[at:end]) - len(text[at:end].lstrip())
            span = start, start + len(text[start:end].rstrip())
        filled.append(span)
        at = span[1]
    return filled


class Words(NamedTuple):
    """The words of a text and of its translation, and the links between them."""

    source: list  # texts of the words
    target: list
    pairs: list | None = None  # sorted indices of linked words. None: they are not aligned


def words_of(tokenizer, source, target, weights=None, log_p=None):
    """Returns the `Words` of a text and its translation, and the words' confidence.

    Args:
        tokenizer: the vocabulary's tokenizer.
        source, target: ids, including the end tokens.
        weights: attention weights `[target, source]`. None: the words are not aligned.
        log_p: log P of each id of the translation. None: the confidence is None.
    """
    read, written = word_pieces(tokenizer.source, source), word_pieces(tokenizer.target, target)
    pairs = None if weights is None else sorted(linked(between(read, written, weights)))
    confidence = None if log_p is None else confidence_of(written, log_p)
    return Words(read.words, written.words, pairs), confidence


def joined_words(parts):
    """Joins the `Words` of the parts of a text, which are all aligned or not."""
    source, target, pairs = [], [], []
    for each in parts:
        pairs += [(i + len(source), j + len(target)) for i, j in each.pairs or ()]
        source, target = source + each.source, target + each.target
    return Words(source, target, None if any(each.pairs is None for each in parts) else pairs)


def linked(weights):
    """Links each target word to its best source word, given weights `[target, source]`."""
    if not weights.size:
        return []
    return [(int(source), target) for target, source in enumerate(weights.argmax(axis=1))]


def between_words(tokenizer, source, target, weights):
    """Converts weights `[..., target, source]` to `[..., target words, source words]`.

    The ids include the end token, unless the output was cut off.
    """
    read, written = word_pieces(tokenizer.source, source), word_pieces(tokenizer.target, target)
    return between(read, written, weights)


def between(read, written, weights):
    weights = joined(weights, written.sizes, read.sizes)
    return weights[..., written.is_word, :][..., read.is_word]


def weights_by_order(source, target):
    """Returns weights `[target, source]` that link pieces in order, for parts too long to align."""
    weights, places = np.zeros((len(target), len(source))), np.arange(len(target))
    weights[places, places * len(source) // len(target)] = 1
    return weights


def confidence_of(words, log_p):
    """Returns the confidence of each word of `WordPieces`: its pieces' smallest probability."""
    if not len(words.sizes):
        return []
    starts = np.cumsum(words.sizes) - words.sizes
    lowest = np.exp(np.minimum.reduceat(np.asarray(log_p, "float64"), starts))
    return lowest[words.is_word].tolist()
