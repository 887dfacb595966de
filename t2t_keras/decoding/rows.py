"""The inputs and results of a search, and the ids of special tokens. Does not import Keras."""

from typing import Any, NamedTuple

PADDING, BEGIN, END = 0, 1, 2


class Rows(NamedTuple):
    """The inputs of a search. A row is a sentence or a part of one.

    Args:
        source: ids `[rows, length]`: tokens, end token, padding.
        index: index of each row's text, which selects its random numbers in sampling.
        prefix: ids `[rows, length]` that the outputs must begin with, padded at the end. None: no
            prefixes.
        phrases: ids `[rows, phrases, length]` that the outputs must contain, padded at the end.
            None: no phrases.
    """

    source: Any
    index: Any
    prefix: Any = None
    phrases: Any = None


class Hypotheses(NamedTuple):
    """The hypotheses of each row, best first."""

    tokens: Any  # [rows, hypotheses, length]: tokens, end token (2), padding (0)
    scores: Any  # [rows, hypotheses]; −∞ for a missing hypothesis
