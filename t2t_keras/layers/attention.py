"""Scaled dot-product and multi-head attention (§3.2), and its cache for decoding.

Shapes: `h` heads, each with queries and keys of width d_k and values of width d_v. A head
is an axis, not a loop: all heads of all sentences are one batched product.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.checks import check, check_boolean, check_integer, check_rate, check_sequence
from t2t_keras.layers.masks import causal_mask, over_heads
from t2t_keras.layers.precision import at_least_float32

# Finite, so that a row in which everything is forbidden gives numbers and not NaN; far
# below any real score, so that exp(FORBIDDEN - maximum) is exactly 0 in float32.
FORBIDDEN = -1e30


class KeysValues(NamedTuple):
    """The keys and values of one attention layer, split into heads."""

    keys: Any  # [batch, heads, length, d_k]
    values: Any  # [batch, heads, length, d_v]


def scaled_dot_product_attention(queries, keys, values, mask=None, dropout=None):
    """`softmax(Q Kᵀ / √d_k) V`, the softmax in float32.

    Args:
        queries: `[..., queries, d_k]`.
        keys: `[..., keys, d_k]`.
        values: `[..., keys, d_v]`.
        mask: boolean, broadcasts to `[..., queries, keys]`; True where a query may look. A
            query that may look nowhere gets zeros.
        dropout: a function applied to the weights before they meet the values.

    Returns:
        The outputs `[..., queries, d_v]` and the weights `[..., queries, keys]` (before
        dropout).
    """
    scale = queries.shape[-1] ** -0.5
    scores = ops.einsum("...qd,...kd->...qk", queries * scale, keys)
    scores = at_least_float32(scores)
    if mask is not None:
        scores = ops.where(mask, scores, FORBIDDEN)
    # Over a single key the softmax is 1 by definition; keras.ops.softmax would warn of it.
    weights = ops.softmax(scores) if scores.shape[-1] != 1 else ops.ones_like(scores)
    if mask is not None:
        somewhere = ops.any(mask, axis=-1, keepdims=True)
        weights = weights * ops.cast(somewhere, weights.dtype)
    dropped = dropout(weights) if dropout is not None else weights
    return ops.matmul(ops.cast(dropped, values.dtype), values), weights


@keras.saving.register_keras_serializable("t2t_keras")
class MultiHeadAttention(keras.layers.Layer):
    """`Concat(head_1, …, head_h) W^O`, `head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)`.

    Without `memory` a sequence attends to itself; with it, to `memory`.

    Args:
        num_heads: h.
        d_model: width of the output.
        d_k: width of a head's queries and keys. None: `d_model / num_heads`.
        d_v: width of a head's values. None: `d_model / num_heads`.
        dropout: rate on the attention weights. The paper's base model has none here.
        causal: position i sees only positions up to i of its own sequence.
        use_bias: biases in the four projections. The paper has none.

    Call arguments:
        queries: `[batch, queries, width]`.
        memory: `[batch, keys, width]`, or None for self-attention.
        mask: for self-attention, boolean `[batch, keys]`, `[batch, queries, keys]` or
            `[batch, heads, queries, keys]`, True where a query may look. If it is not
            given, the Keras mask of `queries` is used.
        memory_mask: the same for `memory`.
        return_weights: also return the weights of every head.

    Returns:
        `[batch, queries, d_model]`, and with `return_weights` the weights
        `[batch, heads, queries, keys]` as a second result.

    Example:

    >>> attention = MultiHeadAttention(num_heads=8, d_model=512)
    >>> outputs = attention(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.2.2.
    """

    def __init__(
        self,
        num_heads,
        d_model,
        d_k=None,
        d_v=None,
        dropout=0.0,
        causal=False,
        use_bias=False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.num_heads = num_heads
        self.d_model = d_model
        self.d_k, self.d_v = head_widths(d_model, num_heads, d_k, d_v)
        self.causal = causal
        self.use_bias = use_bias
        check_boolean("causal", causal)
        check_boolean("use_bias", use_bias)
        check_rate("dropout", dropout)

        def projection(width, name):
            return keras.layers.Dense(width, use_bias=use_bias, dtype=self.dtype_policy, name=name)

        self.query = projection(num_heads * self.d_k, "query")
        self.key = projection(num_heads * self.d_k, "key")
        self.value = projection(num_heads * self.d_v, "value")
        self.output_projection = projection(d_model, "output")
        self.dropout = keras.layers.Dropout(dropout, dtype=self.dtype_policy)

    def build(self, queries_shape, memory_shape=None):
        memory_shape = queries_shape if memory_shape is None else memory_shape
        check_sequence("queries", queries_shape)
        check_sequence("memory", memory_shape)
        self.query.build(queries_shape)
        self.key.build(memory_shape)
        self.value.build(memory_shape)
        self.output_projection.build((*queries_shape[:-1], self.num_heads * self.d_v))
        self.dropout.build(queries_shape)

    def call(self, queries, memory=None, mask=None, memory_mask=None, return_weights=False):
        if memory is not None and (mask is not None or self.causal):
            raise ValueError(
                "`mask` and `causal` are for self-attention; over a memory use `memory_mask`. "
                f"Received: a memory with {'causal=True' if self.causal else 'a mask'}"
            )
        if memory is None:
            if memory_mask is not None:
                raise ValueError("`memory_mask` goes with a `memory`, and none was given")
            memory, memory_mask = queries, mask
        if self.causal:
            no_future = over_heads(causal_mask(ops.shape(queries)[1]))
            padding = over_heads(memory_mask)
            memory_mask = no_future if padding is None else padding & no_future
        outputs, weights = self.attend(queries, self.keys_and_values(memory), memory_mask)
        return (outputs, weights) if return_weights else outputs

    def attend(self, queries, keys_values, mask=None):
        """Looks from `queries` at keys and values that are already projected."""
        queries = self.split_heads(self.query(queries), self.d_k)
        heads, weights = scaled_dot_product_attention(
            queries, *keys_values, over_heads(mask), self.dropout
        )
        return self.output_projection(self.join_heads(heads)), weights

    def keys_and_values(self, memory):
        return KeysValues(
            self.split_heads(self.key(memory), self.d_k),
            self.split_heads(self.value(memory), self.d_v),
        )

    def empty_cache(self, sentences, length, beams=1):
        """Room for the keys and values of `length` positions, of a shape that never changes.

        The hypotheses of a sentence share it: slot `position · beams + beam`.
        """
        rows = (sentences, self.num_heads, length * beams)
        return KeysValues(
            ops.zeros((*rows, self.d_k), self.compute_dtype),
            ops.zeros((*rows, self.d_v), self.compute_dtype),
        )

    def step(self, queries, cache, position, visible=None):
        """Self-attention of the one position that is decoded now.

        Args:
            queries: `[sentences, beams, width]`, one of each hypothesis.
            cache: from `empty_cache`, filled for all positions before this one.
            position: its number, from 0.
            visible: boolean `[sentences, beams, length · beams]`: the slots that a hypothesis
                is made of, this position's included. None: hypothesis b is made of slots b.

        Returns:
            `[sentences, beams, d_model]`, and the cache with this position's keys and values.
        """
        new = self.keys_and_values(queries)
        sentences, beams, _ = ops.shape(queries)
        # Row by row, because TensorFlow does that in place, and copies the cache for a slice.
        rows = sentences * self.num_heads
        places = ops.stack(
            ops.meshgrid(
                ops.arange(rows, dtype="int32"),
                position * beams + ops.arange(beams, dtype="int32"),
                indexing="ij",
            ),
            axis=-1,
        )
        cache = KeysValues(*(self.in_place(x, places, y) for x, y in zip(cache, new, strict=True)))
        if visible is None:
            slots = ops.arange(ops.shape(cache.keys)[2], dtype="int32")[None]
            own = slots % beams == ops.arange(beams)[:, None]
            visible = (own & (slots // beams <= position))[None]
        outputs, _ = self.attend(queries, cache, visible)
        return outputs, cache

    def in_place(self, cache, places, new):
        """`new` written into a cache at `places`, both with the heads as rows of their own."""
        shape, width = ops.shape(cache), cache.shape[-1]
        rows = ops.reshape(cache, (-1, shape[2], width))
        new = ops.reshape(new, (-1, ops.shape(places)[1], width))
        return ops.reshape(ops.scatter_update(rows, places, new), shape)

    def split_heads(self, x, width):
        batch_size, length = ops.shape(x)[:2]
        x = ops.reshape(x, (batch_size, length, self.num_heads, width))
        return ops.transpose(x, (0, 2, 1, 3))  # [batch, heads, length, width]

    def join_heads(self, x):
        batch_size, _, length, width = ops.shape(x)
        x = ops.transpose(x, (0, 2, 1, 3))  # [batch, length, heads, width]
        return ops.reshape(x, (batch_size, length, self.num_heads * width))

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "d_model": self.d_model,
            "d_k": self.d_k,
            "d_v": self.d_v,
            "dropout": self.dropout.rate,
            "causal": self.causal,
            "use_bias": self.use_bias,
        }


def head_widths(d_model, num_heads, d_k=None, d_v=None):
    """Checks the four widths of multi-head attention and returns d_k and d_v.

    Where one is not given it is `d_model / num_heads`, so that all heads together cost what
    one head of full width would (§3.2.2).
    """
    check_integer("d_model", d_model)
    check_integer("num_heads", num_heads)
    if d_k is None or d_v is None:
        check(
            d_model % num_heads == 0,
            "num_heads",
            num_heads,
            f"a divisor of d_model={d_model} unless d_k and d_v are given",
        )
    widths = {"d_k": d_k, "d_v": d_v}
    for name, width in widths.items():
        if width is None:
            widths[name] = d_model // num_heads
        check_integer(name, widths[name])
    return widths["d_k"], widths["d_v"]
