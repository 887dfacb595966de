"""Constraints on the next token: prefixes, banned tokens, repeated n-grams.

A forbidden token gets −∞ and is never chosen. Every other token keeps its probability: the score
of a hypothesis is the model's log P, regardless of the constraints.
"""

import numpy as np

from t2t_keras.decoding.rows import BEGIN, PADDING
from t2t_keras.decoding.top_tokens import log_normalizer, top_tokens
from t2t_keras.ops import ops

IMPOSSIBLE = -np.inf  # log P of a forbidden token, score of a missing hypothesis


def next_tokens(logits, count, tokens, position, config, prefix=None, constrained=None):
    """Returns the most likely next tokens of each hypothesis.

    Args:
        logits: `[sentences, hypotheses, vocabulary]`.
        count: number of tokens to return for each hypothesis.
        tokens: tokens generated so far, `[sentences, hypotheses, length]`.
        position: number of tokens generated so far.
        config: a `SearchConfig`.
        prefix: ids `[sentences, prefix_length]` that the outputs must begin with, padded at
            the end. None: no prefix.
        constrained: function that takes the logits and returns them with −∞ for the tokens that
            a further constraint forbids. None: no further constraint.

    Returns:
        log P and ids of the tokens, each `[sentences, hypotheses, count]`. log P is −∞ for
        forbidden tokens, which fill the array if fewer than `count` are allowed.
    """
    logits = ops.cast(logits, "float32")  # a model may compute in float64
    # Two extra candidates make up for the padding and begin tokens; masking would cost more.
    values, ids = top_tokens(logits, min(count + 2, logits.shape[-1]))
    normalizer = log_normalizer(logits, values[..., 0])[..., None]
    if config.constrained or prefix is not None or constrained is not None:
        logits = mask_forbidden(logits, tokens, position, config, prefix, constrained)
        values, ids = top_tokens(logits, min(count, logits.shape[-1]))
    values = ops.where((ids == PADDING) | (ids == BEGIN), IMPOSSIBLE, values)
    return values - normalizer, ids


def mask_forbidden(logits, tokens, position, config, prefix=None, constrained=None):
    """Returns the logits with −∞ for every forbidden token; arguments as in `next_tokens`."""
    vocabulary, own = logits.shape[-1], logits
    if constrained is not None:
        logits = constrained(logits)
    forbidden = id_mask((PADDING, BEGIN, *config.banned), vocabulary)
    if config.no_repeat_ngram:
        forbidden = forbidden | repeats_ngram(tokens, position, config.no_repeat_ngram, vocabulary)
    if config.first:
        forbidden = forbidden | ((position == 0) & ~id_mask(config.first, vocabulary))
    logits = ops.where(forbidden, IMPOSSIBLE, logits)
    if prefix is None:
        return logits
    # A prefix takes precedence over all other constraints.
    index = ops.minimum(position, ops.shape(prefix)[1] - 1)
    required = ops.take(prefix, index, axis=1)[:, None, None]
    forced = (position < ops.shape(prefix)[1]) & (required != PADDING)
    only = ops.where(ops.arange(vocabulary, dtype="int32") == required, own, IMPOSSIBLE)
    return ops.where(forced, only, logits)


def id_mask(ids, vocabulary):
    """Returns booleans `[vocabulary]`, True at these ids."""
    return np.isin(np.arange(vocabulary), ids)


def repeats_ngram(tokens, position, n, vocabulary):
    """Returns whether each token would complete an n-gram that the hypothesis already contains.

    Returns:
        Booleans `[sentences, hypotheses, vocabulary]`.
    """
    sentences, hypotheses, length = ops.shape(tokens)
    starts = ops.arange(length, dtype="int32")
    complete = starts + n <= position  # whether the n-gram that starts here is complete
    # Whether the first n − 1 tokens of this n-gram equal the newest n − 1 tokens.
    same = ops.broadcast_to(complete, (sentences, hypotheses, length))
    for i in range(n - 1):
        newest = ops.take(tokens, ops.maximum(position - n + 1 + i, 0), axis=2)[..., None]
        same = same & (rotated(tokens, i) == newest)
    # The last token of a matching n-gram would repeat it. For the other n-grams, padding is marked,
    # which is forbidden anyway.
    last = ops.where(same, rotated(tokens, n - 1), PADDING)
    return id_marks(last, vocabulary)


def rotated(tokens, count):
    """Moves the first `count` tokens to the end. LiteRT has no operation `roll`."""
    return ops.concatenate([tokens[:, :, count:], tokens[:, :, :count]], axis=2)


def id_marks(ids, vocabulary):
    """Returns booleans `[sentences, hypotheses, vocabulary]`, True at ids `[.., .., length]`."""
    sentences, hypotheses, length = ops.shape(ids)
    ids = ops.reshape(ids, (-1, length))
    rows = ops.arange(ops.shape(ids)[0], dtype="int32")[:, None] + ops.zeros_like(ids)
    places = ops.reshape(ops.stack([rows, ids], axis=-1), (-1, 2))
    marks = ops.zeros((ops.shape(ids)[0], vocabulary), "bool")
    marks = ops.scatter_update(marks, places, ops.ones(ops.shape(places)[:1], "bool"))
    return ops.reshape(marks, (sentences, hypotheses, vocabulary))


def without_repeats(logits, tokens, position, n):
    """Returns the logits with −∞ for tokens that would repeat an n-gram; n differs by sentence.

    Args:
        logits, tokens, position: see `next_tokens`.
        n: int32 `[sentences]`; 0: no constraint.
    """
    length = ops.shape(tokens)[2]
    n = ops.minimum(ops.reshape(n, (-1, 1, 1)), length + 1)  # longer n-grams do not fit
    starts = ops.arange(length, dtype="int32")
    same = ops.broadcast_to((n > 0) & (starts + n <= position), ops.shape(tokens))

    def compared(i, same):
        """Compares token i of each earlier n-gram with token i of the newest n − 1 tokens."""
        at = ops.clip(position - n + 1 + i, 0, length - 1)
        at = ops.broadcast_to(at, ops.shape(tokens[:, :, :1]))
        newest = ops.take_along_axis(tokens, at, axis=2)
        earlier = ops.take(tokens, ops.minimum(starts + i, length - 1), axis=2)
        return i + 1, same & ((i >= n - 1) | (earlier == newest))

    longest = ops.max(n)
    _, same = ops.while_loop(lambda i, _: i < longest - 1, compared, (0, same))
    last = ops.clip(starts + n - 1, 0, length - 1)
    last = ops.take_along_axis(tokens, ops.broadcast_to(last, ops.shape(tokens)), axis=2)
    repeated = id_marks(ops.where(same, last, PADDING), logits.shape[-1])
    return ops.where(repeated, IMPOSSIBLE, logits)
