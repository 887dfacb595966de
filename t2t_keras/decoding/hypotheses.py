"""What every search is about: hypotheses, how long they may be, how they are scored."""

from typing import Any, NamedTuple

from keras import ops

BEGIN, END = 1, 2


class Hypotheses(NamedTuple):
    """Hypotheses of each sentence, the best first."""

    tokens: Any  # [sentences, hypotheses, length]: end (2) behind the last token, then padding
    scores: Any  # [sentences, hypotheses]; −∞ where there are fewer


def limits_of(source, max_length, config):
    """How many tokens the output of each sentence may have, its end included."""
    lengths = ops.sum(ops.cast(ops.not_equal(source, 0), "int32"), axis=1)
    return ops.minimum(lengths + config.extra_length, max_length)


def penalty(length, alpha):
    """What GNMT divides log P by."""
    return ((5.0 + ops.cast(length, "float32")) / 6.0) ** alpha
