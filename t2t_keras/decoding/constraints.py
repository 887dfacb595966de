"""Constraints on the next token: prefixes, banned tokens, repeated n-grams.

A forbidden token gets −∞ and is never chosen. Every other token keeps its probability: the score
of a hypothesis is the model's log P, regardless of the constraints.
"""

import numpy as np

from t2t_keras.decoding.rows import BEGIN, PADDING
from t2t_keras.decoding.top_tokens import log_normalizer, top_tokens
from t2t_keras.ops import ops

IMPOSSIBLE = -np.inf  # log P of a forbidden token, score of a missing hypothesis


def next_tokens(search, logits, count, tokens, state):
    """Returns the most likely next tokens of each hypothesis.

    Args:
        search: the search method; its `config` and its `trees` forbid tokens.
        logits: `[sentences, hypotheses, vocabulary]`.
        count: number of tokens to return for each hypothesis.
        tokens: tokens generated so far, `[sentences, hypotheses, length]`.
        state: the state of the search. Its `extras` may have a "prefix", ids `[sentences,
            prefix_length]` that the outputs must begin with, padded at the end; and
            "no_repeat_ngram", a length for each sentence in place of the setting.

    Returns:
        log P and ids of the tokens, each `[sentences, hypotheses, count]`. log P is −∞ for
        forbidden tokens, which fill the array if fewer than `count` are allowed.
    """
    logits = ops.cast(logits, "float32")  # a model may compute in float64
    # Two extra candidates make up for the padding and begin tokens; masking would cost more.
    values, ids = top_tokens(logits, min(count + 2, logits.shape[-1]))
    normalizer = log_normalizer(logits, values[..., 0])[..., None]
    config, n = search.config, ngram_length(search, state)
    repeats = n > 0 if isinstance(n, int) else True
    if repeats or config.banned or config.first or search.trees or "prefix" in state.extras:
        logits = mask_forbidden(search, logits, tokens, state)
        values, ids = top_tokens(logits, min(count, logits.shape[-1]))
    values = ops.where((ids == PADDING) | (ids == BEGIN), IMPOSSIBLE, values)
    return values - normalizer, ids


def ngram_length(search, state):
    return state.extras.get("no_repeat_ngram", search.config.no_repeat_ngram)


def mask_forbidden(search, logits, tokens, state):
    """Returns the logits with −∞ for every forbidden token; arguments as in `next_tokens`."""
    vocabulary, own, position, config = logits.shape[-1], logits, state.position, search.config
    if search.trees is not None:
        leaves, limits = state.extras["leaves"], state.limits
        logits = search.trees.constrained(logits, leaves, tokens, position, limits)
    forbidden = id_mask((PADDING, BEGIN, *config.banned), vocabulary)
    n = ngram_length(search, state)
    if isinstance(n, int) and n:
        forbidden = forbidden | repeats_ngram(tokens, position, n, vocabulary)
    elif not isinstance(n, int):
        logits = ops.cond(
            ops.any(n > 0),
            lambda: ops.where(repeats_ngram(tokens, position, n, vocabulary), IMPOSSIBLE, logits),
            lambda: logits,
        )
    if config.first:
        forbidden = forbidden | ((position == 0) & ~id_mask(config.first, vocabulary))
    logits = ops.where(forbidden, IMPOSSIBLE, logits)
    if "prefix" not in state.extras:
        return logits
    # A prefix takes precedence over all other constraints.
    prefix = state.extras["prefix"]
    index = ops.minimum(position, ops.shape(prefix)[1] - 1)
    required = ops.take(prefix, index, axis=1)[:, None, None]
    forced = (position < ops.shape(prefix)[1]) & (required != PADDING)
    only = ops.where(ops.arange(vocabulary, dtype="int32") == required, own, IMPOSSIBLE)
    return ops.where(forced, only, logits)


def id_mask(ids, vocabulary):
    """Returns booleans `[vocabulary]`, True at these ids."""
    return np.isin(np.arange(vocabulary), ids)


def repeats_ngram(tokens, position, n, vocabulary):
    """Returns which tokens would complete an n-gram that the hypothesis already contains.

    `tokens` are `[sentences, hypotheses, length]`, and the first `position` are generated.
    `n` is an int or `[sentences]`, 0 for no constraint. The result is
    `[sentences, hypotheses, vocabulary]`.
    """
    length, fixed = ops.shape(tokens)[2], isinstance(n, int)
    if not fixed:
        n = ops.minimum(ops.reshape(n, (-1, 1, 1)), length + 1)  # longer n-grams do not fit
    starts = ops.arange(length, dtype="int32")
    # Whether the n-gram that starts here is complete.
    same = ops.broadcast_to((n > 0) & (starts + n <= position), ops.shape(tokens))

    def compared(i, same):
        """Compares token i of each earlier n-gram with token i of the newest n − 1 tokens."""
        at = ops.maximum(position - n + 1 + i, 0)
        at = ops.broadcast_to(ops.minimum(at, length - 1), ops.shape(tokens[:, :, :1]))
        newest = ops.take_along_axis(tokens, at, axis=2)
        earlier = ops.take(tokens, ops.minimum(starts + i, length - 1), axis=2)
        return i + 1, same & ((i >= n - 1) | (earlier == newest))

    if fixed:
        for i in range(n - 1):
            _, same = compared(i, same)
    else:
        longest = ops.max(n)
        _, same = ops.while_loop(lambda i, _: i < longest - 1, compared, (0, same))
    # The last token of a matching n-gram would repeat it. For the other n-grams, padding is marked,
    # which is forbidden anyway.
    last = ops.minimum(ops.maximum(starts + n - 1, 0), length - 1)
    last = ops.take_along_axis(tokens, ops.broadcast_to(last, ops.shape(tokens)), axis=2)
    return id_marks(ops.where(same, last, PADDING), vocabulary)


def id_marks(ids, vocabulary):
    """Returns booleans `[sentences, hypotheses, vocabulary]`, True at ids `[.., .., length]`."""
    sentences, hypotheses, length = ops.shape(ids)
    ids = ops.reshape(ids, (-1, length))
    rows = ops.arange(ops.shape(ids)[0], dtype="int32")[:, None] + ops.zeros_like(ids)
    places = ops.reshape(ops.stack([rows, ids], axis=-1), (-1, 2))
    marks = ops.zeros((ops.shape(ids)[0], vocabulary), "bool")
    marks = ops.scatter_update(marks, places, ops.ones(ops.shape(places)[:1], "bool"))
    return ops.reshape(marks, (sentences, hypotheses, vocabulary))


def number_of(booleans):
    return ops.sum(ops.cast(booleans, "int32"), axis=-1)
