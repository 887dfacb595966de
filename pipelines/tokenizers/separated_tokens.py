"""A tokenizer for models that expect text already split into tokens by another program."""

import json

import numpy as np

from pipelines.special_ids import BEGIN, END, PADDING, UNKNOWN, UNKNOWN_SURFACE
from pipelines.text.normalization import Normalization
from pipelines.tokenizers.tokenizer_base import CODE, Tokenizer, check_is_list


class TokenTokenizer(Tokenizer):
    """Splits text at spaces and looks up the id of each token.

    Args:
        vocabulary: the tokens in id order. The first four are the names of the
            padding, begin, end and unknown ids.
        normalization: the `Normalization` of every text.
        begin: whether the ids of a text that is not empty start with the begin id.
    """

    kind = "tokens"

    def __init__(self, vocabulary, normalization=None, begin=False):
        self.vocabulary = list(vocabulary)
        self.normalization = Normalization() if normalization is None else normalization
        self.begin = begin
        self.ids = {token: id for id, token in enumerate(self.vocabulary)}
        if len(self.vocabulary) < 4 or len(self.ids) != len(self.vocabulary):
            raise ValueError(
                "The tokens must be distinct, and at least the four special ones. Received: "
                f"{len(self.vocabulary)} tokens, {len(self.ids)} of them distinct"
            )
        for id in (PADDING, BEGIN, END):  # no text may contain these ids
            del self.ids[self.vocabulary[id]]
        self.codes = {token: id for token, id in self.ids.items() if CODE.fullmatch(token)}
        self.size = len(self.vocabulary)
        self.begins_word = np.ones(self.size, bool)

    def encode(self, texts):
        """Returns an int32 array of ids for each text, without the end id."""
        texts = (self.normalization(text).split() for text in check_is_list(texts))
        prefix = [BEGIN] if self.begin else []
        return [
            np.array([*prefix, *(self.ids.get(token, UNKNOWN) for token in text)], "int32")
            if text
            else np.zeros(0, "int32")
            for text in texts
        ]

    def code_before(self, text):
        """Returns the first token of a normalized text."""
        return text.partition(" ")[0]

    def decode(self, sequences):
        """Returns the text of each sequence of ids, ignoring padding, begin and end."""
        surfaces = self.surfaces()
        return ["".join(surfaces[id] for id in ids).strip(" ") for ids in sequences]

    def surfaces(self):
        """Returns the text of each id with a leading space, or "" for padding, begin and end."""
        return ["", "", "", f" {UNKNOWN_SURFACE}", *(f" {token}" for token in self.vocabulary[4:])]

    def pieces(self, ids):
        """Returns the token of each id."""
        return [self.vocabulary[int(id)] for id in ids]

    def in_graph(self):
        """Returns the same tokenizer as a TensorFlow graph."""
        from pipelines.tokenizers.graph_tokens import GraphTokenTokenizer  # loads TensorFlow

        return GraphTokenTokenizer(self)

    def files(self):
        settings = {"tokens": self.vocabulary, "begin": self.begin}
        return {"tokens.json": json.dumps(settings, ensure_ascii=False, indent=0).encode()}

    @classmethod
    def from_files(cls, read, normalization):
        settings = json.loads(read("tokens.json"))
        return cls(settings["tokens"], normalization, settings["begin"])
