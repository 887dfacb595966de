"""Restricted self-attention (§4): each position sees only the r positions around it.

Time and memory grow as n·r. The sequence is cut into blocks, and the queries of a block attend to
the keys of their own block and its neighbors. No n × n matrix is created, except to return weights.
"""

import keras
from keras import ops

from t2t_keras.checks import check_integer
from t2t_keras.layers.attention import MultiHeadAttention
from t2t_keras.layers.masks import local_mask, over_heads, reach


@keras.saving.register_keras_serializable("t2t_keras")
class LocalSelfAttention(MultiHeadAttention):
    """Multi-head self-attention within a neighborhood of each position.

    It has the same weights as `MultiHeadAttention`, and the same outputs as `MultiHeadAttention`
    with the mask `local_mask(length, neighbourhood, causal)`.

    Args:
        num_heads: h.
        d_model: width of the output.
        neighbourhood: r, the number of positions that each position sees. They are centered on the
            position; if r is even, they extend one position further to the left. With `causal`,
            they are the position and the r − 1 positions before it.
        **settings: see `MultiHeadAttention`.

    Call arguments:
        query: `[batch, length, width]`.
        query_mask: boolean `[batch, length]`, True at real tokens. Default: the Keras mask of
            `query`.
        return_attention_scores: also return the weights of every head, `length × length` each. The
            outputs are then computed with `local_mask` instead of in blocks.
        step, cache: for decoding one position at a time, see `MultiHeadAttention.decode_step`.
            The cache holds the newest r positions.

    Returns:
        `[batch, length, d_model]`, and with `return_attention_scores` the weights
        `[batch, heads, length, length]` as a second result.

    Example:

    >>> attention = LocalSelfAttention(num_heads=8, d_model=512, neighbourhood=65)
    >>> outputs = attention(keras.random.normal((1, 4096, 512)))  # [1, 4096, 512]

    References:
        Vaswani et al. 2017, §4, Table 1.
    """

    takes_value = False

    def __init__(self, num_heads, d_model, neighbourhood, **settings):
        check_integer("neighbourhood", neighbourhood)
        super().__init__(num_heads, d_model, **settings)
        self.neighbourhood = neighbourhood

    def attend(self, queries, keys, values, mask, return_weights, causal):
        mask = None if mask is None else ops.cast(mask, "bool")
        if mask is not None and len(mask.shape) != 2:
            raise ValueError(
                "The mask of restricted attention must have the shape [batch, length]. "
                f"Received: a mask of shape {tuple(mask.shape)}"
            )
        if not return_weights:
            return self.attend_in_blocks(queries, keys, values, mask, causal), None
        near = over_heads(local_mask(ops.shape(keys)[2], self.neighbourhood, causal))
        mask = near if mask is None else near & over_heads(mask)
        return super().attend(queries, keys, values, mask, return_weights, causal)

    def attend_in_blocks(self, queries, keys, values, mask, causal):
        """Computes attention in blocks that are as long as the longer side of the neighborhood.

        `mask` is `[batch, length]` or None. Returns heads, `[batch, heads, length, d_v]`.
        """
        left, right = reach(self.neighbourhood, causal)
        batch_size, _, length, _ = ops.shape(queries)
        block = max(left, right, 1)
        # A short sequence is a single block. In JAX, a length may also be a symbol.
        if isinstance(length, int):
            block = min(block, max(length, 1))
        elif ops.is_tensor(length):
            block = ops.minimum(block, ops.maximum(length, 1))
        count = -(-length // block)  # number of blocks; the last one is padded
        real = ops.arange(count * block, dtype="int32") < length  # [positions]
        if mask is not None:
            mask = ops.pad(mask, [(0, 0), (0, count * block - length)])
            real = real[None] & mask  # [batch, positions]
        rows = 1 if mask is None else batch_size
        real = ops.reshape(real, (rows, 1, count, 1, block))  # [rows, heads, block, query, key]

        def in_blocks(x):
            batch_size, heads, _, width = ops.shape(x)
            x = ops.pad(x, [(0, 0), (0, 0), (0, count * block - length), (0, 0)])
            return ops.reshape(x, (batch_size, heads, count, block, width))

        # The offset of each key from each query; the keys start one block to the left.
        keys_from = ops.arange(-block, (2 if right else 1) * block, dtype="int32")
        offsets = keys_from[None] - ops.arange(block, dtype="int32")[:, None]
        near = (offsets >= -left) & (offsets <= right)  # [query, key]
        heads, _ = self.heads_and_weights(
            in_blocks(queries),
            with_neighbours(in_blocks(keys), 3, right > 0),
            with_neighbours(in_blocks(values), 3, right > 0),
            near & with_neighbours(real, 4, right > 0),
            offsets,
        )  # [batch, heads, block, query, d_v]
        batch_size, num_heads, _, _, width = ops.shape(heads)
        heads = ops.reshape(heads, (batch_size, num_heads, count * block, width))
        return heads[:, :, :length]

    def get_config(self):
        return {**super().get_config(), "neighbourhood": self.neighbourhood}


def with_neighbours(blocks, axis, right):
    """Concatenates blocks `[batch, heads, count, …]` with the left, and perhaps right, neighbor.

    Neighbors are zeros beyond both ends.
    """
    count = blocks.shape[2] if blocks.shape[2] is not None else ops.shape(blocks)[2]
    ends = [(0, 0)] * len(blocks.shape)
    ends[2] = (1, int(right))
    padded = ops.pad(blocks, ends)
    shifts = (0, 1, 2) if right else (0, 1)
    return ops.concatenate([padded[:, :, s : s + count] for s in shifts], axis=axis)
