"""Who may look at whom (§3.2.3).

A mask is boolean and True where a query may look at a key. Masks of one batch combine
with `&`. Ids: 0 is padding, everywhere in this package.
"""

from keras import ops


def padding_mask(ids):
    """True at real tokens: `[batch, length]`, for the keys of a sequence of ids."""
    return ops.not_equal(ids, 0)


def causal_mask(length):
    """Position i sees positions up to i of its own sequence: `[1, queries, keys]`."""
    positions = ops.arange(length)
    return (positions[None, :] <= positions[:, None])[None]


def local_mask(length, neighbourhood, causal=False):
    """Position i sees the `neighbourhood` positions around it: `[1, queries, keys]`.

    The neighbourhood is centred on i; an even one reaches one further to the left. With
    `causal` it is the last `neighbourhood` positions, i included.
    """
    left, right = reach(neighbourhood, causal)
    positions = ops.arange(length)
    offsets = positions[None, :] - positions[:, None]  # [queries, keys], key minus query
    return ((offsets >= -left) & (offsets <= right))[None]


def reach(neighbourhood, causal=False):
    """How far a neighbourhood of that many positions goes to the left and to the right."""
    right = 0 if causal else (neighbourhood - 1) // 2
    return neighbourhood - 1 - right, right


def over_heads(mask):
    """Brings a mask to `[batch, heads, queries, keys]`, with ones where it broadcasts.

    Args:
        mask: boolean, `[batch, keys]` (padding), `[batch, queries, keys]`, or one mask a
            head, `[batch, heads, queries, keys]`. None stays None: everything is allowed.
    """
    if mask is None:
        return None
    mask = ops.cast(mask, "bool")
    rank = len(mask.shape)
    if rank == 2:
        return mask[:, None, None, :]
    if rank == 3:
        return mask[:, None, :, :]
    if rank == 4:
        return mask
    raise ValueError(
        "An attention mask must have the shape [batch, keys], [batch, queries, keys] or "
        f"[batch, heads, queries, keys]. Received: a mask of shape {tuple(mask.shape)}"
    )
