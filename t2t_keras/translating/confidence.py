"""The confidence of each word of a translation, from the probabilities of its pieces."""

import numpy as np


def word_confidence(token_log_p, sizes):
    """Returns the confidence of each word: the smallest probability of its pieces.

    Args:
        token_log_p: log P of each piece of a translation.
        sizes: number of pieces of each word, in order.

    Example:

    >>> word_confidence(np.log([0.5, 0.25, 1.0]), [2, 1]).tolist()
    [0.25, 1.0]
    """
    sizes = np.asarray(sizes, "int64")
    if not len(sizes):
        return np.zeros(0)
    token_log_p = np.asarray(token_log_p, "float64")
    return np.exp(np.minimum.reduceat(token_log_p, np.cumsum(sizes) - sizes))
