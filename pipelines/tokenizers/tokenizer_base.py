"""The parts that all tokenizers share."""

import re

import numpy as np

from pipelines.special_ids import MARKS
from pipelines.text.normalization import SPACE_SIGN, is_word_character

CODE = re.compile(r">>.*?<<", re.DOTALL)  # a language code at the beginning of a text


class Tokenizer:
    """Base class of the tokenizers. Each has one vocabulary, for one language or for both.

    A subclass has the attributes `kind` (its name in tokenizer.json), `size`, `normalization` and
    `begins_word` (a boolean array `[size]`), and the methods `encode`, `decode`, `pieces` and
    `in_graph`. `files()` returns {file name: bytes}. The class method `from_files(read,
    normalization)` creates the tokenizer from files; `read(name)` returns the bytes of a file. A
    tokenizer with `codes` also has `code_before(text)`, which returns the beginning of a normalized
    text that may be a language code.
    """

    byte_ids = ()  # ids of the pieces that stand for a byte
    # Boolean array [size]: whether a piece ends a word. None if pieces show where words begin.
    ends_word = None
    tags = {}  # {tag: id}; see `tags.py`
    start = ()  # ids that begin every source
    begin = False  # whether the begin id precedes every text that is not empty
    codes = {}  # {language code: id}; a text may begin with a code such as >>de<<

    @property
    def marks(self):
        """Labels of the ids without text: padding, begin, end, the tags and the language codes."""
        return MARKS | {id: name for name, id in (*self.tags.items(), *self.codes.items())}

    @property
    def source(self):
        """The tokenizer of the source language."""
        return self

    @property
    def target(self):
        """The tokenizer of the target language."""
        return self

    def split_code(self, text):
        """Returns the language code at the beginning of a text, or "", and the rest of the text.

        The rest begins after the "<<" that ends the code and any white space that follows it.
        """
        code = self.code_before(self.normalization(text)) if self.codes and ">>" in text else ""
        return (code, text.partition("<<")[2].lstrip()) if code in self.codes else ("", text)

    def lead(self, ids):
        """Returns the number of ids before the text of a source: tag, begin id and language code.

        If the source is divided into parts, these ids apply to all parts.

        Args:
            ids: ids of a source, which may be empty.
        """
        count = min(len(self.start) + self.begin, len(ids))
        if self.codes:
            codes = set(self.codes.values())
            pieces = ids[count : count + 2]
            if len(pieces) == 2 and self.pieces(pieces[:1]) == [SPACE_SIGN]:
                return count + 2 * (int(pieces[1]) in codes)
            return count + any(int(id) in codes for id in pieces[:1])
        return count

    def contents(self):
        """Returns bytes that are equal for equal vocabularies."""
        return b"".join(self.files().values())

    def ends_phrase(self, ids=None):
        """Returns booleans: whether the piece of each id ends the word of the preceding piece.

        A byte piece does not, because it may continue a letter.

        Args:
            ids: ids. None: all, in order.
        """
        if self.ends_word is not None:
            raise ValueError("the pieces of this vocabulary do not show where words begin")
        ids = np.arange(self.size) if ids is None else np.asarray(ids)
        ends = [not piece or not is_word_character(piece[0]) for piece in self.pieces(ids)]
        return np.array(ends, bool) & ~np.isin(ids, self.byte_ids)


def begins_word(tokenizer):
    """Returns a boolean array `[size]`: whether the piece of each id begins a word."""
    pieces = tokenizer.pieces(range(tokenizer.size))
    return np.array([piece.startswith(SPACE_SIGN) for piece in pieces])


def check_is_list(texts):
    """Returns `texts`. Rejects a single string, whose characters would be encoded one by one."""
    if isinstance(texts, str | bytes):
        raise ValueError(f"`texts` must be a list of texts. Received: texts={texts!r}")
    return texts
