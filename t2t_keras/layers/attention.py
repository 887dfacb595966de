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


class Place(NamedTuple):
    """Where the position that is decoded now stands in a cache, the same for every layer.

    Its rows, one for each head of each hypothesis, come in two orders: as a projection leaves
    them, [sentences, beams, heads], and as attention wants them, [sentences, heads, beams].
    """

    slots: Any  # [rows, 3]: sentence, head and slot of each new key, as projected
    mask: Any  # [sentences or 1, 1, beams, length · beams]: what each hypothesis sees
    to_heads: Any  # [rows]: the first order → the second
    from_heads: Any  # and back

    @property
    def beams(self):
        return self.mask.shape[2]


def place_of(cache, position, beams, visible=None):
    """The `Place` of a position.

    Args:
        cache: the `KeysValues` of any layer, from `empty_cache`.
        position: its number, from 0.
        beams: hypotheses a sentence.
        visible: boolean `[sentences, beams, length · beams]`: the slots that a hypothesis is
            made of, this position's included. None: hypothesis b is made of slots b.
    """
    sentences, heads, slots, _ = ops.shape(cache.keys)
    new = position * beams + ops.arange(beams, dtype="int32")
    axes = (ops.arange(sentences, dtype="int32"), new, ops.arange(heads, dtype="int32"))
    sentence, slot, head = (ops.reshape(x, (-1,)) for x in ops.meshgrid(*axes, indexing="ij"))
    rows = ops.arange(sentences * beams * heads, dtype="int32")
    to_heads, from_heads = (
        ops.reshape(ops.transpose(ops.reshape(rows, (-1, *inner)), (0, 2, 1)), (-1,))
        for inner in ((beams, heads), (heads, beams))
    )
    if visible is None:
        visible = own_slots(position, beams, slots)
    return Place(ops.stack([sentence, head, slot], axis=-1), visible[:, None], to_heads, from_heads)


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


def own_slots(position, beams, slots):
    """What hypotheses see of a cache that never go on from another: `[1, beams, slots]`."""
    numbers = ops.arange(slots, dtype="int32")
    own = numbers % beams == ops.arange(beams, dtype="int32")[:, None]
    return (own & (numbers // beams <= position))[None]


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

    def step(self, x, cache, place):
        """Self-attention of the one position that is decoded now.

        Args:
            x: `[rows, width]`, the hypotheses of a sentence next to each other.
            cache: from `empty_cache`, filled for all positions before this one.
            place: a `Place`.

        Returns:
            `[rows, d_model]`, and the cache with this position's keys and values.
        """
        new = KeysValues(self.key(x), self.value(x))
        # Row by row: TensorFlow writes rows in place, and copies the whole for a slice.
        cache = KeysValues(
            *(
                ops.scatter_update(old, place.slots, ops.reshape(rows, (-1, old.shape[-1])))
                for old, rows in zip(cache, new, strict=True)
            )
        )
        return self.look(x, cache, place, place.mask), cache

    def look(self, x, keys_values, place, mask):
        """`attend` for `[rows, width]`, the hypotheses of a sentence next to each other.

        No axis is more than it needs, and rows change their order by being looked up: for one
        position, what TensorFlow does around a product takes longer than the product.
        """
        queries = ops.reshape(self.query(x), (-1, self.d_k))
        if place.beams > 1:
            queries = ops.take(queries, place.to_heads, axis=0)
        queries = ops.reshape(queries, (-1, self.num_heads, place.beams, self.d_k))
        heads, _ = scaled_dot_product_attention(queries, *keys_values, mask, self.dropout)
        if place.beams > 1:
            heads = ops.take(ops.reshape(heads, (-1, self.d_v)), place.from_heads, axis=0)
        return self.output_projection(ops.reshape(heads, (-1, self.num_heads * self.d_v)))

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
