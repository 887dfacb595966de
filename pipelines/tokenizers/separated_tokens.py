"""A tokenizer for models that expect text already split into tokens by another program."""

import numpy as np

from pipelines.special_ids import BEGIN, END, PADDING, UNKNOWN, UNKNOWN_SURFACE
from pipelines.tokenizers.tokenizer_base import CODE, ListedTokenizer


class TokenTokenizer(ListedTokenizer):
    """Splits text at spaces and looks up the id of each token.

    Args:
        vocabulary, normalization: see `ListedTokenizer`.
        begin: whether the ids of a text that is not empty start with the begin id.
    """

    kind, unknown = "tokens", f" {UNKNOWN_SURFACE}"

    def __init__(self, vocabulary, normalization=None, begin=False):
        super().__init__(vocabulary, normalization)
        self.begin, self.ids, self.options = begin, self.distinct_ids(), {"begin": begin}
        for id in (PADDING, BEGIN, END):  # no text may contain these ids
            del self.ids[self.vocabulary[id]]
        self.codes = {token: id for token, id in self.ids.items() if CODE.fullmatch(token)}
        self.begins_word = np.ones(self.size, bool)

    def ids_of(self, texts):
        """Returns a list of ids for each normalized text."""
        return [[self.ids.get(token, UNKNOWN) for token in text.split()] for text in texts]

    def code_before(self, text):
        """Returns the first token of a normalized text."""
        return text.partition(" ")[0]

    def surface(self, token):
        return f" {token}"
