"""Word pieces: the paper's English–French sub-words (§5.1; Wu et al. 2016)."""

import itertools

import numpy as np

from pipelines.special_ids import (
    BEGIN,
    CONTINUES,
    END,
    PADDING,
    SPECIAL_PIECES,
    UNKNOWN,
    UNKNOWN_SURFACE,
)
from pipelines.text.normalization import SPACE_SIGN, Normalization
from pipelines.tokenizers.tokenizer_base import Tokenizer, begins_word, check_is_list


class WordPieceTokenizer(Tokenizer):
    """A word-piece tokenizer: repeatedly splits off the longest piece that a word begins with.

    Args:
        vocabulary: the pieces in id order, beginning with `SPECIAL_PIECES`.
        normalization: the `Normalization` of every text.

    Words are split at spaces only, so decoding restores the text exactly. A character without a
    piece is unknown.
    """

    kind = "word_pieces"

    def __init__(self, vocabulary, normalization=None):
        self.vocabulary = list(vocabulary)
        self.normalization = Normalization() if normalization is None else normalization
        if self.vocabulary[:4] != SPECIAL_PIECES:
            raise ValueError(
                f"The first word pieces must be {SPECIAL_PIECES}. Received: {self.vocabulary[:4]}"
            )
        self.ids = {piece: id for id, piece in enumerate(self.vocabulary)}
        if len(self.ids) != len(self.vocabulary):
            raise ValueError(
                "Word pieces must be distinct. "
                f"Received: {len(self.vocabulary)} pieces, {len(self.ids)} of them distinct"
            )
        self.longest = max(len(piece.removeprefix(CONTINUES)) for piece in self.vocabulary)
        self.size = len(self.vocabulary)
        self.begins_word = begins_word(self)
        self.ids_of_words = {}  # cache

    def encode(self, texts):
        """Returns an int32 array of ids for each text, without begin and end ids."""
        texts = (self.normalization(text).split(" ") for text in check_is_list(texts))
        return [
            np.array(list(itertools.chain.from_iterable(map(self.encode_word, text))), "int32")
            for text in texts
        ]

    def encode_word(self, word):
        if word not in self.ids_of_words:
            if len(self.ids_of_words) > 100_000:
                self.ids_of_words.clear()
            self.ids_of_words[word] = self.longest_first(word)
        return self.ids_of_words[word]

    def longest_first(self, word):
        ids, start = [], 0
        while start < len(word):
            prefix = CONTINUES if start else ""
            for end in range(min(len(word), start + self.longest), start, -1):
                id = self.ids.get(prefix + word[start:end])
                if id is not None:
                    break
            ids.append(UNKNOWN if id is None else id)
            start = end
        return ids

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        return ["".join(map(self.surface, ids)).strip(" ") for ids in sequences]

    def surface(self, id):
        """Returns the text of one id, with a leading space if it begins a word."""
        if id in (PADDING, BEGIN, END):
            return ""
        if id == UNKNOWN:
            return f" {UNKNOWN_SURFACE} "
        piece = self.vocabulary[id]
        return piece.removeprefix(CONTINUES) if piece.startswith(CONTINUES) else f" {piece}"

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.surface(int(id)).replace(" ", SPACE_SIGN) for id in ids]

    def files(self):
        return {"word_pieces.txt": "".join(f"{piece}\n" for piece in self.vocabulary).encode()}

    @classmethod
    def from_files(cls, read, normalization):
        return cls(read("word_pieces.txt").decode().split("\n")[:-1], normalization)

    def in_graph(self):
        """Returns the same tokenizer as a TensorFlow graph."""
        from pipelines.tokenizers.graph_tokenizers import (
            GraphWordPieceTokenizer,  # loads TensorFlow
        )

        return GraphWordPieceTokenizer(self.vocabulary, self.normalization)
