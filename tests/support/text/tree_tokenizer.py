"""A vocabulary of twelve pieces that writes small trees."""

import numpy as np

PIECES = ["", "", "", " ⁇", " (A", " )A", " (B", " )B", " a", " b", "c", " XX"]


class TreeTokenizer:
    """A tokenizer with both sides; a space at the beginning of a piece begins a word."""

    def __init__(self, pieces):
        self.own_pieces, self.size = pieces, len(pieces)
        self.source = self.target = self
        self.start = self.byte_ids = ()
        self.begins_word = np.array([piece.startswith(" ") for piece in pieces])

    def contents(self):
        return repr(self.own_pieces).encode()

    def decode(self, sequences):
        return ["".join(self.own_pieces[id] for id in ids).strip() for ids in sequences]

    def encode(self, texts):
        return [[self.own_pieces.index(f" {word}") for word in text.split()] for text in texts]


TOKENIZER = TreeTokenizer(PIECES)


def text_of(ids):
    """Returns the text of a sequence of ids."""
    return TOKENIZER.decode([ids])[0]
