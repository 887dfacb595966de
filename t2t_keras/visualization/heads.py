"""The heads of an attention sub-layer as weights between words, whatever sub-words they had."""

from typing import Any, NamedTuple

import numpy as np


class Heads(NamedTuple):
    """All heads of one sub-layer, for one sentence."""

    stack: str  # "encoder" or "decoder"
    layer: int  # from 1
    kind: str  # "self_attention" or "cross_attention"
    weights: Any  # [heads, looking, looked_at]; every row sums to 1
    looking: list  # the words that look: the queries
    looked_at: list  # the words that are looked at: the keys

    @property
    def name(self):
        return f"{self.stack}-{self.layer}-{self.kind}"

    @property
    def title(self):
        return f"{self.stack}, layer {self.layer}, {self.kind.replace('_', '-')}"


def heads_of(weights, source, read, written):
    """The heads of every sub-layer, between words.

    Args:
        weights: what `Transformer.attention_weights` gives: for each sub-layer
            `[1, heads, queries, keys]`.
        source: the source's words, as (text, number of pieces).
        read: the words that the decoder read: begin and the translation.
        written: the words that it wrote: the translation and end. Each is one step ahead of
            what was read, and names the queries of the decoder.

    Returns:
        A list of `Heads`, in the order of `weights`.
    """
    found = []
    for name, array in weights.items():
        stack, layer, kind = name.split("/")
        looking = source if stack == "encoder" else written
        looked_at = read if (stack, kind) == ("decoder", "self_attention") else source
        sizes = [[pieces for _, pieces in words] for words in (looking, looked_at)]
        texts = [[text for text, _ in words] for words in (looking, looked_at)]
        found.append(Heads(stack, int(layer) + 1, kind, joined(array[0], *sizes), *texts))
    return found


def joined(weights, query_pieces, key_pieces):
    """Weights between words, from weights between their pieces; rows still sum to 1.

    Args:
        weights: `[..., queries, keys]`.
        query_pieces, key_pieces: how many pieces each word has.

    Returns:
        `[..., words, words]`: what a word is given is the sum over its pieces, what it gives
        the mean over them.

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
