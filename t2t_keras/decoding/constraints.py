"""What may be written next: forced beginnings, pieces that are banned, n-grams that would repeat.

What is forbidden gets −∞ and is never chosen. The others keep the probability that the model
gives them: the score of a hypothesis is log P of the model, whatever was forbidden on the way.
"""

import numpy as np
from keras import ops

from t2t_keras.decoding.hypotheses import BEGIN, PADDING
from t2t_keras.decoding.likeliest import likeliest, log_normalizer

NEVER = -np.inf  # the score of what does not exist


def next_tokens(logits, count, tokens, position, config, prefix=None):
    """The likeliest tokens that may come next.

    Args:
        logits: `[sentences, hypotheses, vocabulary]`.
        count: how many of each hypothesis; fewer than that may be allowed.
        tokens: what is written so far, `[sentences, hypotheses, length]`.
        position: how many tokens that are.
        config: a `SearchConfig`.
        prefix: ids `[sentences, prefix_length]` that the outputs must begin with; padding
            behind them. None: no such.

    Returns:
        log P of them, −∞ for what is not allowed, and their ids; `[sentences, hypotheses, count]`.
    """
    # Padding and begin are soon passed over; a mask over the whole vocabulary takes its time.
    values, ids = likeliest(logits, min(count + 2, logits.shape[-1]))
    normalizer = log_normalizer(logits, values[..., 0])[..., None]
    if config.constrained or prefix is not None:
        logits = allowed(logits, tokens, position, config, prefix)
        values, ids = likeliest(logits, min(count, logits.shape[-1]))
    values = ops.where((ids == PADDING) | (ids == BEGIN), NEVER, values)
    return values - normalizer, ids


def allowed(logits, tokens, position, config, prefix=None):
    """The logits, −∞ where a token may not come next.

    Args: as of `next_tokens`.
    """
    vocabulary = logits.shape[-1]
    forbidden = marked((PADDING, BEGIN, *config.banned), vocabulary)
    if config.no_repeat_ngram:
        forbidden = forbidden | repeating(tokens, position, config.no_repeat_ngram, vocabulary)
    if config.first:
        forbidden = forbidden | ((position == 0) & ~marked(config.first, vocabulary))
    if prefix is not None:
        place = ops.minimum(position, ops.shape(prefix)[1] - 1)
        wanted = ops.take(prefix, place, axis=1)[:, None, None]
        forced = (position < ops.shape(prefix)[1]) & (wanted != PADDING)
        forbidden = ops.where(forced, ops.arange(vocabulary) != wanted, forbidden)
    return ops.where(forbidden, NEVER, logits)


def marked(ids, vocabulary):
    """True at these ids: `[vocabulary]`."""
    return np.isin(np.arange(vocabulary), ids)


def repeating(tokens, position, n, vocabulary):
    """True where a token would complete an n-gram that its hypothesis has already.

    Returns:
        `[sentences, hypotheses, vocabulary]`.
    """
    sentences, hypotheses, length = ops.shape(tokens)
    starts = ops.arange(length, dtype="int32")
    complete = starts + n <= position  # n-grams that begin here are written to their end
    same = ops.broadcast_to(complete, (sentences, hypotheses, length))
    for i in range(n - 1):
        ours = ops.take(tokens, ops.maximum(position - n + 1 + i, 0), axis=2)[..., None]
        same = same & (ops.roll(tokens, -i, axis=2) == ours)
    # Where nothing repeats, it is padding that is marked: nobody writes it anyway.
    ends = ops.where(same, ops.roll(tokens, 1 - n, axis=2), PADDING)
    rows = ops.reshape(ends, (-1, length))
    numbers = ops.arange(ops.shape(rows)[0], dtype="int32")[:, None] + ops.zeros_like(rows)
    places = ops.reshape(ops.stack([numbers, rows], axis=-1), (-1, 2))
    marks = ops.zeros((ops.shape(rows)[0], vocabulary), "bool")
    marks = ops.scatter_update(marks, places, ops.ones(ops.shape(places)[:1], "bool"))
    return ops.reshape(marks, (sentences, hypotheses, vocabulary))
