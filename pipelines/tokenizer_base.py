"""The parts that all tokenizers share."""

import numpy as np

from pipelines.normalization import SPACE_SIGN
from pipelines.special_ids import MARKS
from pipelines.word_characters import is_word_character


class Tokenizer:
    """Base of the tokenizers: one vocabulary, used for both languages unless in a pair.

    A subclass has `kind`, its name in tokenizer.json; `size`, `normalization` and `begins_word`, a
    boolean array `[size]`; and the methods `encode`, `decode`, `pieces` and `in_graph`. `files()`
    returns the bytes of each file by name. The class method `from_files(read, normalization)`
    returns the tokenizer in files; `read` is a function from a file's name to its bytes.
    """

    byte_ids = ()  # ids of the pieces that stand for a byte
    # For each id, whether its piece ends a word, where pieces show this instead of the beginning.
    ends_word = None
    tags = {}  # ids of the tags by name: pieces that no text contains, see `tags.py`
    start = ()  # ids that begin every source

    @property
    def marks(self):
        """Labels of the ids without text: padding, begin, end and the tags."""
        return MARKS | {id: tag for tag, id in self.tags.items()}

    @property
    def source(self):
        """The tokenizer of the source language."""
        return self

    @property
    def target(self):
        """The tokenizer of the target language."""
        return self

    def contents(self):
        """Returns bytes that are equal for equal vocabularies."""
        return b"".join(self.files().values())

    def ends_phrase(self):
        """Returns a boolean array `[size]`: whether a piece ends the word of the piece before it.

        A piece of bytes does not, as it may continue a letter.
        """
        if self.ends_word is not None:
            raise ValueError("the pieces of this vocabulary do not show where words begin")
        pieces = self.pieces(range(self.size))
        ends = [not piece or not is_word_character(piece[0]) for piece in pieces]
        return np.array(ends) & ~np.isin(np.arange(self.size), self.byte_ids)


def begins_word(tokenizer):
    """Returns a boolean array `[size]`: whether the piece of each id begins a word."""
    pieces = tokenizer.pieces(range(tokenizer.size))
    return np.array([piece.startswith(SPACE_SIGN) for piece in pieces])


def check_is_list(texts):
    """Returns `texts`; rejects a single string, whose characters would be encoded one by one."""
    if isinstance(texts, str | bytes):
        raise ValueError(f"`texts` must be a list of texts. Received: texts={texts!r}")
    return texts
