"""Top-k tokens and their log P, in little more than one pass over the logits."""

import math

import numpy as np

from t2t_keras.ops import ops


class Logits(np.ndarray):
    """Logits with their top tokens, both computed by the same program.

    Attributes:
        top_tokens: the largest logits and their ids, each `[rows, count]`, and the logarithm of
            the normalizer, `[rows]`.
    """

    top_tokens = None

    def reshape(self, *shape, **options):
        reshaped = super().reshape(*shape, **options)
        reshaped.top_tokens = self.top_tokens
        return reshaped


def top_tokens(logits, count):
    """Equivalent to `ops.top_k`, but six times as fast for a large vocabulary.

    The vocabulary is split into groups. The `count` largest logits are all in the `count` groups
    with the largest maxima, so only these groups are searched.

    Args:
        logits: `[..., vocabulary]`.
        count: k.

    Returns:
        The `count` largest logits in descending order, and their ids: `[..., count]` each.
    """
    vocabulary = logits.shape[-1]
    known = getattr(logits, "top_tokens", None)
    if known is not None and known[0].shape[-1] >= count:
        found = (part[:, :count] for part in known[:2])
        return tuple(np.reshape(part, (*logits.shape[:-1], count)) for part in found)
    size = group_size(vocabulary)
    groups = vocabulary // size
    if groups <= 2 * count:
        values, ids = ops.top_k(logits, count)
        return values, ops.cast(ids, "int32")
    shape = ops.shape(logits)[:-1]
    grouped = ops.reshape(logits, (-1, groups, size))
    _, chosen = ops.top_k(ops.max(grouped, axis=-1), count)
    rows = ops.arange(ops.shape(chosen)[0], dtype="int32")[:, None]
    # With the groups of all rows on one axis, `take` copies whole groups, not single logits.
    chosen = ops.cast(chosen, "int32")
    candidates = ops.take(ops.reshape(logits, (-1, size)), rows * groups + chosen, axis=0)
    values, places = ops.top_k(ops.reshape(candidates, (-1, count * size)), count)
    places = ops.cast(places, "int32")
    ids = ops.take_along_axis(chosen, places // size, axis=1) * size + places % size
    return ops.reshape(values, (*shape, count)), ops.reshape(ids, (*shape, count))


def group_size(vocabulary):
    """Returns the divisor of the vocabulary size that is nearest to 0.75 times its square root."""
    root = math.isqrt(vocabulary)
    divisors = [size for size in range(root // 4 + 1, 4 * root) if vocabulary % size == 0]
    return min(divisors, key=lambda size: abs(size - 0.75 * root), default=1)


def log_normalizer(logits, largest):
    """Computes `logsumexp(logits)`, given the largest logit."""
    if getattr(logits, "top_tokens", None) is not None:
        return np.reshape(logits.top_tokens[2], logits.shape[:-1])
    return largest + ops.log(ops.sum(ops.exp(logits - largest[..., None]), axis=-1))
