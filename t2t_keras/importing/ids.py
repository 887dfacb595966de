"""Reorders ids, because other systems' vocabularies begin with different special tokens.

Our ids 0 to 3 are padding, begin, end and unknown. The other tokens follow in their original order.
"""

import numpy as np

from t2t_keras.importing.imported import Pieces
from t2t_keras.importing.tensors import Tensor

NEVER = -1e4  # bias that prevents an id from being written; fits in float16
ABSENT = -1
NAMES = ("<pad>", "<s>", "</s>", "<unk>")  # of special tokens that the other system lacks


class Ids:
    """A mapping from our ids to the ids of another system's vocabulary.

    Args:
        size: number of ids in the other system.
        padding, begin, end, unknown: special ids in the other system, or `ABSENT`.

    Attributes:
        theirs: for each of our ids, the id in the other system, or `ABSENT`.
    """

    def __init__(self, size, padding=ABSENT, begin=ABSENT, end=ABSENT, unknown=ABSENT):
        special = [padding, begin, end, unknown]
        self.theirs = np.array([*special, *(id for id in range(size) if id not in special)])

    def pieces(self, tokens, **fields):
        """Returns the `Pieces` of tokens that are ordered by their ids."""
        known, result = set(tokens), []
        for ours, theirs in enumerate(self.theirs):
            name = tokens[theirs] if theirs >= 0 else NAMES[ours]
            while theirs < 0 and name in known:
                name = f"{name[0]}{name}{name[-1]}"
            result.append(name)
        return Pieces(result, ids=self, **fields)

    def rows(self, matrix, begin=None):
        """Returns a matrix in our order.

        `begin` is the other system's id whose row the begin token gets: `ABSENT` for zeros, None
        for the begin token's own row.
        """
        theirs = self.theirs.copy()
        if begin is not None:
            theirs[1] = begin

        def compute():
            array = matrix.stored()[theirs]
            array[theirs < 0] = 0
            return array

        return Tensor([len(theirs), matrix.shape[1]], compute)

    def bias(self, bias=None):
        """Returns the logit bias in our order; it prevents padding and begin tokens."""

        def compute():
            result = np.zeros(len(self.theirs), "float32")
            if bias is not None:
                result = np.where(self.theirs < 0, 0, bias.read()[self.theirs])
            result[:2] = NEVER
            if self.theirs[3] < 0:
                result[3] = NEVER
            return result

        return Tensor([len(self.theirs)], compute)
