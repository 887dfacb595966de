"""Word pieces: the paper's English–French sub-words (§5.1; Wu et al. 2016)."""

from pipelines.special_ids import CONTINUES, SPECIAL_PIECES
from pipelines.text.normalization import SPACE_SIGN
from pipelines.tokenizers.tokenizer_base import LongestFirst


class WordPieceTokenizer(LongestFirst):
    """A word-piece tokenizer: repeatedly splits off the longest piece that a word begins with.

    Words are split at spaces only, so decoding restores the text exactly. A character without a
    piece is unknown.

    Args:
        vocabulary: the pieces in id order, beginning with `SPECIAL_PIECES`.
        normalization: the `Normalization` of every text.
    """

    kind, continues = "word_pieces", CONTINUES

    def __init__(self, vocabulary, normalization=None):
        super().__init__(vocabulary, normalization)
        if self.vocabulary[:4] != SPECIAL_PIECES:
            raise ValueError(
                f"The first word pieces must be {SPECIAL_PIECES}. Received: {self.vocabulary[:4]}"
            )
        self.ids = self.distinct_ids()
        self.longest = max(len(piece.removeprefix(CONTINUES)) for piece in self.vocabulary)

    def words_of(self, text):
        return text.split(" ")

    def surface(self, piece):
        return f" {piece}".replace(f" {CONTINUES}", "", 1)

    def pieces(self, ids):
        """Returns the piece of each id. A piece that begins a word starts with `SPACE_SIGN`."""
        return [self.surfaces[int(id)].replace(" ", SPACE_SIGN) for id in ids]

    def files(self):
        return {"word_pieces.txt": "".join(f"{piece}\n" for piece in self.vocabulary).encode()}

    @classmethod
    def from_files(cls, read, normalization):
        return cls(read("word_pieces.txt").decode().split("\n")[:-1], normalization)
