"""What every search is about: hypotheses, how long they may be, how they are scored."""

from typing import Any, NamedTuple

from keras import ops

PADDING, BEGIN, END = 0, 1, 2


class Hypotheses(NamedTuple):
    """Hypotheses of each sentence, the best first."""

    tokens: Any  # [sentences, hypotheses, length]: end (2) behind the last token, then padding
    scores: Any  # [sentences, hypotheses]; −∞ where there are fewer


def limits_of(source, longest, config):
    """How many tokens the output of each sentence may have, its end included."""
    lengths = ops.sum(ops.cast(ops.not_equal(source, PADDING), "int32"), axis=1)
    limits = lengths + config.extra_length
    return limits if longest is None else ops.minimum(limits, longest)


def penalty(length, alpha):
    """What GNMT divides log P by."""
    return ((5.0 + ops.cast(length, "float32")) / 6.0) ** alpha


def best(hypotheses, count):
    """The `count` of the highest scores, and where they stood."""
    scores, chosen = ops.top_k(hypotheses.scores, count)
    tokens = ops.take_along_axis(hypotheses.tokens, chosen[..., None], axis=1)
    return Hypotheses(tokens, scores), chosen


def newest_of(tokens, position):
    """The tokens at the position before: begin, if there is none."""
    last = ops.take(tokens, ops.maximum(position - 1, 0), axis=-1)
    return ops.where(position == 0, BEGIN, last)


def written(tokens, position, new):
    """`tokens` with `new` at `position`."""
    here = ops.arange(ops.shape(tokens)[-1], dtype="int32") == position
    return ops.where(here, new[..., None], tokens)


def longer(x, axis, length):
    """`x` with zeros behind, up to `length` on `axis`."""
    widths = [(0, 0)] * len(x.shape)
    widths[axis] = (0, length - ops.shape(x)[axis])
    return ops.pad(x, widths)
