"""Which pieces form each word of a text, for everything that is counted in words."""

import numpy as np

from pipelines.normalization import SPACE_SIGN
from pipelines.tokenizers import words


def pieces_of_words(tokenizer, ids):
    """Joins ids to groups, one for each word, and one for each mark or space between words.

    Args:
        tokenizer: the tokenizer of the language.
        ids: ids of a text, with or without its end.

    Returns:
        An array with the number of pieces of each group, and a boolean array: whether it is a word.
    """
    groups = words(tokenizer, ids)
    sizes = np.array([size for _, size in groups], "int64")
    firsts = np.asarray(ids)[np.cumsum(sizes) - sizes]
    marks = tokenizer.marks
    is_word = [
        text != SPACE_SIGN and first not in marks
        for (text, _), first in zip(groups, firsts.tolist(), strict=True)
    ]
    return sizes, np.array(is_word, bool)


def texts_of_words(tokenizer, ids):
    """Returns the text of each word."""
    _, is_word = pieces_of_words(tokenizer, ids)
    return [
        text for (text, _), chosen in zip(words(tokenizer, ids), is_word, strict=True) if chosen
    ]
