"""Attention weights between words, computed from the weights between sub-word pieces."""

from typing import Any, NamedTuple

import numpy as np


class Heads(NamedTuple):
    """All heads of one sub-layer on one sentence."""

    stack: str  # "encoder" or "decoder"
    layer: int  # counted from 1
    kind: str  # "self_attention" or "cross_attention"
    weights: Any  # [heads, queries, keys]; each row sums to 1
    queries: list  # words that attend to the keys
    keys: list  # words that are attended to

    @property
    def name(self):
        return f"{self.stack}-{self.layer}-{self.kind}"

    @property
    def title(self):
        return f"{self.stack}, layer {self.layer}, {self.kind.replace('_', '-')}"


def heads_of(weights, source, read, written):
    """Returns the `Heads` of each sub-layer, with weights between words.

    Args:
        weights: {sub-layer: weights `[1, heads, queries, keys]`}, as returned by
            `Transformer.attention_weights`.
        source: words of the source, as (text, number of pieces).
        read: input words of the decoder: the begin token and the translation.
        written: output words of the decoder, its queries: the translation and the end token.
    """
    result = []
    for name, array in weights.items():
        stack, layer, kind = name.split("/")
        queries = source if stack == "encoder" else written
        keys = read if (stack, kind) == ("decoder", "self_attention") else source
        sizes = [[pieces for _, pieces in words] for words in (queries, keys)]
        texts = [[text for text, _ in words] for words in (queries, keys)]
        result.append(Heads(stack, int(layer) + 1, kind, joined(array[0], *sizes), *texts))
    return result


def joined(weights, query_pieces, key_pieces):
    """Combines weights between pieces into weights between words. Rows still sum to 1.

    Weights are summed over a key word's pieces, and averaged over a query word's pieces.

    Args:
        weights: `[..., queries, keys]`.
        query_pieces, key_pieces: number of pieces of each word.

    Returns:
        `[..., query words, key words]`.

    Example:

    >>> joined(np.array([[0.5, 0.25, 0.25], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]]), [1, 2], [1, 2])
    array([[0.5, 0.5],
           [0. , 1. ]])
    """
    weights = np.asarray(weights)
    expected, received = (sum(query_pieces), sum(key_pieces)), weights.shape[-2:]
    if expected != received:
        raise ValueError(
            f"The words have {expected[0]} and {expected[1]} pieces, so `weights` must be "
            f"[..., {expected[0]}, {expected[1]}]. Received: weights of shape {weights.shape}"
        )
    weights = np.add.reduceat(weights, starts(key_pieces), axis=-1)
    weights = np.add.reduceat(weights, starts(query_pieces), axis=-2)
    return weights / np.asarray(query_pieces, weights.dtype)[:, None]


def starts(sizes):
    return np.cumsum(sizes) - sizes
