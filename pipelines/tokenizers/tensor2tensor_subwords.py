"""The sub-words of tensor2tensor: its SubwordTextEncoder.

A text is split where letters or digits meet other characters. A single space between two such
tokens is dropped. Each token ends with `_`, and characters that occur in no piece are replaced by
their code numbers. Then the longest piece at the start of the token is split off, repeatedly.
"""

import itertools
import json
import re

import numpy as np

from pipelines.special_ids import UNKNOWN_SURFACE
from pipelines.text.normalization import Normalization
from pipelines.tokenizers.tokenizer_base import Tokenizer, check_is_list

SPECIAL = 4
ESCAPE_CHARACTERS = "\\_u;0123456789"
TOKEN = re.compile(r"[^\W_]+|[\W_]+")  # a run of Unicode letters and digits, or of other characters
ESCAPE = re.compile(r"\\u|\\\\|\\([0-9]+);")
UNDEFINED = "\u3013"  # replaces a number that is not the code of a character


class SubwordTokenizer(Tokenizer):
    """A tokenizer with the vocabulary of a SubwordTextEncoder.

    Args:
        vocabulary: the pieces in id order. The first four are the names of the
            padding, begin, end and unknown ids. Unused ids have empty pieces.
        normalization: the `Normalization` of every text.
    """

    kind = "subwords"
    undefined = UNDEFINED

    def __init__(self, vocabulary, normalization=None):
        self.vocabulary = list(vocabulary)
        self.normalization = Normalization() if normalization is None else normalization
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
        self.size = len(self.vocabulary)
        # Pieces show where a token ends, not where it begins. A piece that starts with a
        # punctuation mark or a space is at least not in the middle of a word.
        self.begins_word = np.array([begins_with_mark(piece) for piece in self.surfaces()])
        self.ends_word = np.array([piece.endswith("_") for piece in self.surfaces()])
        self.ids_of_tokens = {}  # cache

    def encode(self, texts):
        """Returns an int32 array of ids for each text, without the end id."""
        texts = (self.normalization(text) for text in check_is_list(texts))
        return [
            np.array(
                list(
                    itertools.chain.from_iterable(
                        self.encode_token(token) for token in TOKEN.findall(text) if token != " "
                    )
                ),
                "int32",
            )
            for text in texts
        ]

    def encode_token(self, token):
        if token not in self.ids_of_tokens:
            if len(self.ids_of_tokens) > 100_000:
                self.ids_of_tokens.clear()
            self.ids_of_tokens[token] = self.longest_first(self.escaped(token))
        return self.ids_of_tokens[token]

    def escaped(self, token):
        return "".join(map(self.escaped_character, token)) + "_"

    def escaped_character(self, character):
        if character == "\\":
            return "\\\\"
        if character == "_":
            return "\\u"
        return character if character in self.alphabet else f"\\{ord(character)};"

    def longest_first(self, token):
        ids, start = [], 0
        while start < len(token):
            ends = range(min(len(token), start + self.longest), start, -1)
            end = next(end for end in ends if token[start:end] in self.ids)
            ids.append(self.ids[token[start:end]])
            start = end
        return ids

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        surfaces = self.surfaces()
        return [joined("".join(surfaces[id] for id in ids)).strip(" ") for ids in sequences]

    def surfaces(self):
        """Returns the string of each id. Decoding joins these strings into tokens."""
        return ["", "", "", f"{UNKNOWN_SURFACE}_", *self.vocabulary[SPECIAL:]]

    def pieces(self, ids):
        """Returns the piece of each id. A piece that ends a token ends with `_`."""
        return [self.vocabulary[int(id)] for id in ids]

    def in_graph(self):
        """Returns the same tokenizer as a TensorFlow graph."""
        from pipelines.tokenizers.graph_subwords import GraphSubwordTokenizer  # loads TensorFlow

        return GraphSubwordTokenizer(self)

    def files(self):
        settings = {"pieces": self.vocabulary}
        return {"subwords.json": json.dumps(settings, ensure_ascii=False, indent=0).encode()}

    @classmethod
    def from_files(cls, read, normalization):
        return cls(json.loads(read("subwords.json"))["pieces"], normalization)


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
