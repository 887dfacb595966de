"""Attention masks (§3.2.3): padding, causal and local.

A mask is boolean, and True where a query may attend to a key. Masks of one batch combine with
`&`. Id 0 is padding everywhere in this package.
"""

from typing import Any, NamedTuple

from keras import ops


class Bias(NamedTuple):
    """A mask in the form of numbers that are added to the scores. Every query must see a key."""

    values: Any  # float32 `[batch, heads, queries, keys]`: 0 where a query may attend, or −∞


def padding_mask(ids):
    """Returns a mask `[batch, length]` for the keys of a sequence of ids: True at real tokens."""
    return ops.not_equal(ids, 0)


def causal_mask(queries, keys=None):
    """Returns a mask `[1, queries, keys]`, given both lengths: query i sees keys up to i."""
    positions = ops.arange(queries, dtype="int32")
    of_keys = positions if keys is None else ops.arange(keys, dtype="int32")
    return (of_keys[None, :] <= positions[:, None])[None]


def local_mask(length, neighbourhood, causal=False):
    """Returns a mask `[1, queries, keys]`: position i sees `neighbourhood` positions around it.

    They are centered on i; an even number extends one position further to the left. With `causal`,
    they are i and the positions before it.
    """
    left, right = reach(neighbourhood, causal)
    positions = ops.arange(length, dtype="int32")
    offsets = positions[None, :] - positions[:, None]  # [queries, keys], key minus query
    return ((offsets >= -left) & (offsets <= right))[None]


def reach(neighbourhood, causal=False):
    """Returns the number of positions that a neighborhood extends to the left and to the right."""
    right = 0 if causal else (neighbourhood - 1) // 2
    return neighbourhood - 1 - right, right


def both(mask, other):
    """Combines two masks. None allows everything."""
    if mask is None or other is None:
        return other if mask is None else mask
    mask, other = ops.cast(mask, "bool"), ops.cast(other, "bool")
    if len(mask.shape) != len(other.shape):
        mask, other = over_heads(mask), over_heads(other)
    return mask & other


def over_heads(mask):
    """Reshapes a mask to `[batch, heads, queries, keys]`, with axes of size 1 for broadcasting.

    Args:
        mask: boolean, `[batch, keys]` (padding), `[batch, queries, keys]`, or one mask per
            head, `[batch, heads, queries, keys]`. None, which allows everything, and a `Bias` are
            returned unchanged.
    """
    if mask is None or isinstance(mask, Bias):
        return mask
    mask = ops.cast(mask, "bool")
    rank = len(mask.shape)
    if rank == 2:
        mask, rank = ops.expand_dims(mask, 1), 3
    if rank == 3:  # LiteRT cannot insert an axis by indexing with None
        return ops.expand_dims(mask, 1)
    if rank == 4:
        return mask
    raise ValueError(
        "An attention mask must have the shape [batch, keys], [batch, queries, keys] or "
        f"[batch, heads, queries, keys]. Received: a mask of shape {tuple(mask.shape)}"
    )
