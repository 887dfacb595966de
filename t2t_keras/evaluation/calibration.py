"""Calibration: whether the confidence of words agrees with the share of right words."""

import collections
from typing import NamedTuple

import numpy as np

BINS = 10  # number of equal intervals of confidence


class Bin(NamedTuple):
    """The words with a confidence from `low` to below `high`; the last bin includes 1."""

    low: float
    high: float
    words: int
    confidence: float  # mean confidence of the words
    right: float  # share of right words


class Calibration(NamedTuple):
    """The calibration of a set of words.

    The expected calibration error is the absolute difference between a bin's mean confidence and
    its share of right words, averaged over bins and weighted by number of words.
    """

    bins: list  # of `Bin`s in ascending order, without empty bins
    words: int
    error: float


def calibration(confidence, right):
    """Returns the `Calibration`, given each word's confidence and whether the word is right.

    If there are no words, returns None.
    """
    confidence, right = np.asarray(confidence, "float64"), np.asarray(right, bool)
    if not len(confidence):
        return None
    index = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins = []
    for i in sorted(set(index.tolist())):
        inside = index == i
        means = (float(values[inside].mean()) for values in (confidence, right))
        bins.append(Bin(i / BINS, (i + 1) / BINS, int(inside.sum()), *means))
    error = sum(each.words * abs(each.confidence - each.right) for each in bins)
    return Calibration(bins, len(confidence), error / len(confidence))


def right_words(words, reference):
    """Returns, for each word, whether it matches a reference word that is not yet matched.

    >>> right_words(["ein", "Hund", "ein", "ein"], ["ein", "ein", "Hund"])
    [True, True, True, False]
    """
    left, right = collections.Counter(reference), []
    for word in words:
        right.append(left[word] > 0)
        left[word] -= 1
    return right
