"""The vocabulary of a parser: which ids are brackets, and which ones write the leaves of trees."""

from typing import NamedTuple

import numpy as np

OTHER, OPENING, CLOSING, WORD_START, CONTINUATION = range(5)


class TreeVocabulary(NamedTuple):
    """Tables of a vocabulary of trees.

    The classes of target ids are `OPENING` and `CLOSING` brackets, pieces of text that begin a word
    (`WORD_START`) or continue one (`CONTINUATION`), and `OTHER`.
    """

    leaves: str  # how a word is written: "tag", "XX" or "word"
    classes: np.ndarray  # class of each target id
    closings: np.ndarray  # for each opening bracket, the id of its closing bracket; 0 elsewhere
    begins_word: np.ndarray  # for each source id, whether it begins a word
    start: int  # number of ids that begin every source
    written: np.ndarray  # for each source id, the id that writes it in a leaf
    placeholder: tuple  # ids that write "XX"
