"""Hypotheses: tokens, length limits and scores."""

from t2t_keras.decoding.rows import BEGIN, PADDING, Hypotheses
from t2t_keras.ops import ops


def length_limits(source, longest, config):
    """Returns the maximum output length of each sentence, with the end token: `[sentences]`."""
    lengths = ops.sum(ops.cast(ops.not_equal(source, PADDING), "int32"), axis=1)
    limits = lengths + config.extra_length
    return limits if longest is None else ops.minimum(limits, longest)


def length_penalty(length, config, alpha=None):
    """Returns the length penalty, by which log P is divided.

    Args:
        length: number of tokens, including the end token.
        config: a `SearchConfig`.
        alpha: an array of exponents in place of `config.alpha`.
    """
    length = ops.cast(length, "float32")
    return config.length_penalty(ops.maximum(length, 1.0), alpha)  # a row of padding has length 0


def best(hypotheses, count):
    """Returns the `count` hypotheses with the highest scores, and their indices."""
    scores, chosen = ops.top_k(hypotheses.scores, count)
    tokens = ops.take_along_axis(hypotheses.tokens, chosen[..., None], axis=1)
    return Hypotheses(tokens, scores), chosen


def newest_tokens(tokens, position):
    """Returns the tokens at `position − 1`, or the begin token at position 0."""
    last = ops.take(tokens, ops.maximum(position - 1, 0), axis=-1)
    return ops.where(position == 0, BEGIN, last)


def with_token(tokens, position, new):
    """Returns `tokens` with `new` at `position`."""
    here = ops.arange(ops.shape(tokens)[-1], dtype="int32") == position
    return ops.where(here, new[..., None], tokens)
