"""The parts that all tokenizers share."""

import functools
import json
import re

import numpy as np

from pipelines.special_ids import BEGIN, MARKS, UNKNOWN, UNKNOWN_SURFACE
from pipelines.text.normalization import SPACE_SIGN, Normalization, is_word_character

CODE = re.compile(r">>.*?<<", re.DOTALL)  # a language code at the beginning of a text


class Tokenizer:
    """Base class of the tokenizers. Each has one vocabulary, for one language or for both.

    A subclass has the attributes `kind` (its name in tokenizer.json), `size` and `normalization`,
    and the methods `ids_of`, `decode` and `pieces`. `files()` returns {file name: bytes}. The class
    method `from_files(read, normalization)` creates the tokenizer from files; `read(name)` returns
    the bytes of one. A tokenizer with `codes` has `code_before(text)`, which returns the beginning
    of a normalized text that may be a language code. `graph_tokenizers.py` has a class for each
    kind.
    """

    byte_ids = ()  # ids of the pieces that stand for a byte
    # Boolean array [size]: whether a piece ends a word. None if pieces show where words begin.
    ends_word = None
    tags = {}  # {tag: id}; see `tags.py`
    start = ()  # ids that begin every source
    begin = False  # whether the begin id precedes every text that is not empty
    codes = {}  # {language code: id}; a text may begin with a code such as >>de<<

    def encode(self, texts):
        """Returns an int32 array of ids for each text, without the end id."""
        if isinstance(texts, str | bytes):  # its characters would be encoded one by one
            raise ValueError(f"`texts` must be a list of texts. Received: texts={texts!r}")
        found = self.ids_of([self.normalization(text) for text in texts])
        begin = [BEGIN] * self.begin
        return [np.array([*self.start, *(begin if ids else ()), *ids], "int32") for ids in found]

    @functools.cached_property
    def begins_word(self):
        """Boolean array `[size]`: whether the piece of each id begins a word."""
        return np.array([each.startswith(SPACE_SIGN) for each in self.pieces(range(self.size))])

    def in_graph(self):
        """Returns the same tokenizer as a TensorFlow graph."""
        from pipelines.tokenizers.graph_tokenizers import GRAPHS  # loads TensorFlow

        return GRAPHS[self.kind](self)

    @property
    def marks(self):
        """Labels of the ids without text: padding, begin, end, the tags and the language codes."""
        return MARKS | {id: name for name, id in (*self.tags.items(), *self.codes.items())}

    # The tokenizers of both languages; `SeparateTokenizers` has two.
    source = target = property(lambda self: self)

    def split_code(self, text):
        """Returns the language code at the beginning of a text, or "", and the rest of the text.

        The rest begins after the "<<" that ends the code and any white space that follows it.
        """
        code = self.code_before(self.normalization(text)) if self.codes and ">>" in text else ""
        return (code, text.partition("<<")[2].lstrip()) if code in self.codes else ("", text)

    def lead(self, ids):
        """Returns the number of ids before the text of a source: tag, begin id and language code.

        If the source is divided into parts, these ids apply to all parts.
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

        A byte piece does not, because it may continue a letter. Without `ids`, all are judged.
        """
        if self.ends_word is not None:
            raise ValueError("the pieces of this vocabulary do not show where words begin")
        ids = np.arange(self.size) if ids is None else np.asarray(ids)
        ends = [not piece or not is_word_character(piece[0]) for piece in self.pieces(ids)]
        return np.array(ends, bool) & ~np.isin(ids, self.byte_ids)


class ListedTokenizer(Tokenizer):
    """Base class of the tokenizers whose vocabulary is a list of pieces.

    A subclass has `surface(piece)`, the text of a piece, with a leading space if it begins a word.

    Args:
        vocabulary: the pieces in id order. The first four are the names of the padding, begin, end
            and unknown ids.
        normalization: the `Normalization` of every text.
    """

    unknown = f" {UNKNOWN_SURFACE} "  # text of the unknown id
    options = {}  # further arguments of the tokenizer

    def __init__(self, vocabulary, normalization=None):
        self.vocabulary = list(vocabulary)
        self.normalization = Normalization() if normalization is None else normalization
        self.size = len(self.vocabulary)

    def files(self):
        contents = {"pieces": self.vocabulary, **self.options}
        return {"pieces.json": json.dumps(contents, ensure_ascii=False, indent=0).encode()}

    @classmethod
    def from_files(cls, read, normalization):
        options = json.loads(read("pieces.json"))
        return cls(options.pop("pieces"), normalization, **options)

    def distinct_ids(self, first=0):
        """Returns {piece: id}, from the id `first` on. Rejects pieces that are not distinct."""
        ids = {piece: id for id, piece in enumerate(self.vocabulary) if id >= first}
        if len(ids) != self.size - first or self.size <= UNKNOWN:
            raise ValueError(
                "The pieces of a vocabulary must be distinct, and at least the four special ones. "
                f"Received: {self.size} pieces, {len(ids) + first} of them distinct"
            )
        return ids

    @functools.cached_property
    def surfaces(self):
        """The text of each id."""
        return ["", "", "", self.unknown, *map(self.surface, self.vocabulary[UNKNOWN + 1 :])]

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        return ["".join(self.surfaces[id] for id in ids).strip(" ") for ids in sequences]

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.vocabulary[int(id)] for id in ids]


class LongestFirst(ListedTokenizer):
    """Base class of the tokenizers that repeatedly split off the longest piece at a word's start.

    A subclass has `ids`, {piece: id}; `longest`, the length of the longest piece; and
    `words_of(text)`.
    """

    continues = ""  # prefix of the pieces that do not begin a word

    @functools.cached_property
    def ids_of_word(self):
        return functools.lru_cache(100_000)(self.longest_first)

    def ids_of(self, texts):
        """Returns a list of ids for each normalized text."""
        ids_of_word = self.ids_of_word
        return [[id for word in self.words_of(text) for id in ids_of_word(word)] for text in texts]

    def longest_first(self, word):
        ids, start = [], 0
        while start < len(word):
            prefix = self.continues if start else ""
            for end in range(min(len(word), start + self.longest), start, -1):
                id = self.ids.get(prefix + word[start:end])
                if id is not None:
                    break
            ids.append(UNKNOWN if id is None else id)
            start = end
        return ids


def wrong_size(size, smallest=0, largest=None):
    """Returns the error for a vocabulary of a size that the text does not allow."""
    if largest is None:
        reason = (
            f"A vocabulary of {size:,} pieces cannot hold all characters of the text: it needs "
        )
        reason += f"at least {smallest:,}, or a smaller `character_coverage`"
    else:
        reason = f"The text is too small for a vocabulary of {size:,} pieces: it can have at most "
        reason += f"{largest:,}. Choose a smaller data.vocabulary.size"
    return ValueError(f"{reason}. Received: size={size}")
