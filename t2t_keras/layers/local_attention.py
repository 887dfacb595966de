"""Restricted self-attention (§4): each position sees only the r positions around it.

Time and memory grow as n·r. The sequence is cut into blocks, and the queries of a block attend to
the keys of their own block and its neighbors. No n × n matrix is ever created.
"""

import keras
from keras import ops

from t2t_keras.checks import check_boolean, check_integer
from t2t_keras.layers.attention import MultiHeadAttention, scaled_dot_product_attention
from t2t_keras.layers.masks import reach


@keras.saving.register_keras_serializable("t2t_keras")
class LocalSelfAttention(keras.layers.Layer):
    """Multi-head self-attention within a neighbourhood of each position.

    The outputs equal those of `MultiHeadAttention` with `local_mask(length, neighbourhood)`. An
    inner `MultiHeadAttention`, `self.attention`, owns the weights.

    Args:
        num_heads: h.
        d_model: width of the output.
        neighbourhood: r, the number of positions that each position sees. They are centered on
            it; if r is even, they extend one position further to the left.
        d_k, d_v, dropout, use_bias: see `MultiHeadAttention`.
        causal: the neighbourhood is the current position and the r − 1 before it.

    Call arguments:
        x: `[batch, length, width]`.
        mask: boolean `[batch, length]`, True at real tokens. Default: the Keras mask of `x`.

    Returns:
        `[batch, length, d_model]`.

    Example:

    >>> attention = LocalSelfAttention(num_heads=8, d_model=512, neighbourhood=65)
    >>> outputs = attention(keras.random.normal((1, 4096, 512)))  # [1, 4096, 512]

    References:
        Vaswani et al. 2017, §4, Table 1.
    """

    def __init__(
        self,
        num_heads,
        d_model,
        neighbourhood,
        d_k=None,
        d_v=None,
        dropout=0.0,
        causal=False,
        use_bias=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_integer("neighbourhood", neighbourhood)
        check_boolean("causal", causal)
        self.supports_masking = True
        self.neighbourhood = neighbourhood
        self.causal = causal
        self.attention = MultiHeadAttention(
            num_heads,
            d_model,
            d_k,
            d_v,
            dropout=dropout,
            use_bias=use_bias,
            dtype=self.dtype_policy,
            name="attention",
        )

    def build(self, x_shape):
        self.attention.build(x_shape)

    def call(self, x, mask=None):
        attention = self.attention
        queries = attention.split_heads(attention.query(x), attention.d_k)
        keys, values = attention.keys_and_values(x)
        heads = self.attend_in_blocks(queries, keys, values, mask)
        return attention.output_projection(attention.join_heads(heads))

    def attend_in_blocks(self, queries, keys, values, mask):
        """Computes attention in blocks that are as long as the longer side of the neighbourhood.

        Args:
            queries, keys, values: `[batch, heads, length, width of a head]`.
            mask: boolean `[batch, length]`, or None.

        Returns:
            The heads, `[batch, heads, length, d_v]`.
        """
        left, right = reach(self.neighbourhood, self.causal)
        block = max(left, right, 1)
        length = ops.shape(queries)[2]
        if isinstance(length, int):
            block = min(block, max(length, 1))  # a short sequence is a single block
        count = -(-length // block)  # number of blocks; the last one is padded
        real = ops.arange(count * block) < length  # [positions]
        if mask is not None:
            if len(mask.shape) != 2:
                raise ValueError(
                    "The mask of local attention must have the shape [batch, length]. "
                    f"Received: a mask of shape {tuple(mask.shape)}"
                )
            mask = ops.pad(ops.cast(mask, "bool"), [(0, 0), (0, count * block - length)])
            real = real[None] & mask  # [batch, positions]
        real = ops.reshape(real, (-1, 1, count, 1, block))  # [batch or 1, heads, block, query, key]

        def in_blocks(x):
            batch_size, heads, _, width = ops.shape(x)
            x = ops.pad(x, [(0, 0), (0, 0), (0, count * block - length), (0, 0)])
            return ops.reshape(x, (batch_size, heads, count, block, width))

        # The offset of each key from each query; the keys start one block to the left.
        offsets = ops.arange(-block, (2 if right else 1) * block)[None] - ops.arange(block)[:, None]
        near = (offsets >= -left) & (offsets <= right)  # [query, key]
        heads, _ = scaled_dot_product_attention(
            in_blocks(queries),
            with_neighbours(in_blocks(keys), 3, right > 0),
            with_neighbours(in_blocks(values), 3, right > 0),
            near & with_neighbours(real, 4, right > 0),
            self.attention.dropout,
        )  # [batch, heads, block, query, d_v]
        batch_size, num_heads, _, _, width = ops.shape(heads)
        heads = ops.reshape(heads, (batch_size, num_heads, count * block, width))
        return heads[:, :, :length]

    def get_config(self):
        shared = ("num_heads", "d_model", "d_k", "d_v", "dropout", "use_bias")
        attention = self.attention.get_config()
        return {
            **super().get_config(),
            **{name: attention[name] for name in shared},
            "neighbourhood": self.neighbourhood,
            "causal": self.causal,
        }


def with_neighbours(blocks, axis, right):
    """Concatenates each block with its neighbors, which are zeros beyond both ends.

    Args:
        blocks: `[batch, heads, count, …]`.
        axis: the axis to concatenate along.
        right: include the neighbor on the right, not only the one on the left.
    """
    count = blocks.shape[2] if blocks.shape[2] is not None else ops.shape(blocks)[2]
    ends = [(0, 0)] * len(blocks.shape)
    ends[2] = (1, int(right))
    padded = ops.pad(blocks, ends)
    shifts = (0, 1, 2) if right else (0, 1)
    return ops.concatenate([padded[:, :, s : s + count] for s in shifts], axis=axis)
