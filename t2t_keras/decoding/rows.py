"""The inputs and results of a search, and the ids of special tokens. Does not import Keras."""

from typing import Any, NamedTuple

from t2t_keras.ops import ops

PADDING, BEGIN, END = 0, 1, 2


class Rows(NamedTuple):
    """The inputs of a search. A row is a sentence or a part of one.

    Args:
        source: ids `[rows, length]`: tokens, end token, padding.
        index: index of each row's text, which selects its random numbers in sampling.
        prefix: ids `[rows, length]` that the outputs must begin with, padded at the end. None: no
            prefixes.
        phrases: ids `[rows, phrases, length]` that the outputs must contain, padded at the end.
            None: no phrases.
    """

    source: Any
    index: Any
    prefix: Any = None
    phrases: Any = None

    def extras(self):
        """Returns {name: ids} of the prefix and the phrases, if there are any."""
        given = {"prefix": self.prefix, "phrases": self.phrases}
        return {name: ids for name, ids in given.items() if ids is not None}


class Hypotheses(NamedTuple):
    """The hypotheses of each row, best first."""

    tokens: Any  # [rows, hypotheses, length]: tokens, end token (2), padding (0)
    scores: Any  # [rows, hypotheses]; −∞ for a missing hypothesis


def length_limits(source, longest, config):
    """Returns the maximum output length of each sentence, with the end token: `[sentences]`."""
    lengths = ops.sum(ops.cast(ops.not_equal(source, PADDING), "int32"), axis=1)
    limits = lengths + config.extra_length
    return limits if longest is None else ops.minimum(limits, longest)


def length_penalty(length, config, alpha=None):
    """Returns the penalty, by which log P is divided, of lengths that include the end token.

    `alpha` is an array of exponents in place of `config.alpha`.
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
