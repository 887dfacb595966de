"""The sub-words of tensor2tensor: its SubwordTextEncoder.

A text is split where letters or digits meet other characters. A single space between two such
tokens is dropped. Each token ends with `_`, and characters that occur in no piece are replaced by
their code numbers. Then the longest piece at the start of the token is split off, repeatedly.
"""

import re

import numpy as np

from pipelines.special_ids import UNKNOWN_SURFACE
from pipelines.tokenizers.tokenizer_base import LongestFirst

SPECIAL = 4
ESCAPE_CHARACTERS = "\\_u;0123456789"
TOKEN = re.compile(r"[^\W_]+|[\W_]+")  # a run of Unicode letters and digits, or of other characters
ESCAPE = re.compile(r"\\u|\\\\|\\([0-9]+);")
UNDEFINED = "\u3013"  # replaces a number that is not the code of a character


class SubwordTokenizer(LongestFirst):
    """A tokenizer with the vocabulary of a SubwordTextEncoder. Unused ids have empty pieces."""

    kind, unknown, undefined = "subwords", f"{UNKNOWN_SURFACE}_", UNDEFINED

    def __init__(self, vocabulary, normalization=None):
        super().__init__(vocabulary, normalization)
        pieces = enumerate(self.vocabulary[SPECIAL:], SPECIAL)
        self.ids = {piece: id for id, piece in pieces if piece}
        self.alphabet = set(ESCAPE_CHARACTERS).union(*self.ids)
        if missing := sorted(self.alphabet - self.ids.keys()):
            raise ValueError(
                "A vocabulary of sub-words must have a piece for each of its characters. It has "
                f"none for {' '.join(missing[:10])}"
            )
        if "\n" in self.alphabet:
            raise ValueError("A sub-word must not contain a line feed")
        self.longest = max(map(len, self.ids))
        # Pieces show where a token ends, not where it begins. A piece that starts with a
        # punctuation mark or a space is at least not in the middle of a word.
        self.begins_word = np.array([begins_with_mark(piece) for piece in self.surfaces])
        self.ends_word = np.array([piece.endswith("_") for piece in self.surfaces])

    def words_of(self, text):
        return (token for token in TOKEN.findall(text) if token != " ")

    def longest_first(self, word):
        return super().longest_first("".join(map(self.escaped_character, word)) + "_")

    def escaped_character(self, character):
        if character == "\\":
            return "\\\\"
        if character == "_":
            return "\\u"
        return character if character in self.alphabet else f"\\{ord(character)};"

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        return [joined("".join(self.surfaces[id] for id in ids)).strip(" ") for ids in sequences]

    def surface(self, piece):
        """Returns the string of a piece. Decoding joins these strings into tokens."""
        return piece


def begins_with_mark(piece):
    return piece != "" and not piece[0].isalnum() and piece[0] not in ESCAPE_CHARACTERS


def joined(pieces):
    """Returns the text of joined pieces, with a space between two tokens of letters or digits."""
    tokens = [ESCAPE.sub(unescaped, token) for token in pieces.split("_") if token]
    texts, word = [], False
    for token in tokens:
        is_word = token[0].isalnum()
        texts += [" ", token] if word and is_word else [token]
        word = is_word
    return "".join(texts)


def unescaped(match):
    if match[1] is None:
        return "_" if match[0] == "\\u" else "\\"
    code = int(match[1][-8:]) if match[1][:-8].strip("0") == "" else -1
    is_character = 0 <= code < 0x110000 and not 0xD800 <= code < 0xE000
    return chr(code) if is_character else UNDEFINED
