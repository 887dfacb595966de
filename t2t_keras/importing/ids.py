"""Reorders ids, because other systems' vocabularies begin with different special tokens.

Our ids 0 to 3 are padding, begin, end and unknown. The other tokens follow in their original order.
"""

import numpy as np

from t2t_keras.importing.tensors import Tensor

NEVER = -1e4  # bias that prevents an id from being written; fits in float16
ABSENT = -1


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
        self.size = size
        self.theirs = np.array([*special, *(id for id in range(size) if id not in special)])

    def __len__(self):
        return len(self.theirs)

    def ordered(self, items, names=("<pad>", "<s>", "</s>", "<unk>")):
        """Returns items in our order. A missing special item is replaced by one of `names`."""
        known = set(items)
        result = []
        for ours, theirs in enumerate(self.theirs):
            name = items[theirs] if theirs >= 0 else names[ours]
            while theirs < 0 and name in known:
                name = f"{name[0]}{name}{name[-1]}"
            result.append(name)
        return result

    def input_matrix(self, matrix, start=None):
        """Returns an embedding matrix in our order.

        `start` is the other system's id of the token that the decoder starts from; `ABSENT` is a
        vector of zeros, None the begin token.
        """
        theirs = self.theirs.copy()
        if start is not None:
            theirs[1] = start
        return self.rows(matrix, theirs)

    def output_matrix(self, matrix):
        """Returns the output matrix, which computes the logits, in our order."""
        theirs = self.theirs.copy()
        theirs[1] = ABSENT
        return self.rows(matrix, theirs)

    def output_bias(self, bias=None):
        """Returns the logit bias in our order; it prevents padding and begin tokens."""

        def compute():
            result = np.zeros(len(self), "float32")
            if bias is not None:
                result = np.where(self.theirs < 0, 0, bias.read()[self.theirs])
            result[:2] = NEVER
            if self.theirs[3] < 0:
                result[3] = NEVER
            return result

        return Tensor([len(self)], compute)

    def rows(self, matrix, theirs):
        def compute():
            array = matrix.stored()[theirs]
            array[theirs < 0] = 0
            return array

        return Tensor([len(self), matrix.shape[1]], compute)
