"""The cache that lets a decoder compute one position at a time.

A cache has one row per sentence. All hypotheses of a sentence share that row: beam b writes its
keys and values at position p into slot `p · beams + b`, and nothing is ever moved. A mask marks the
slots that each hypothesis can see.

Restricted self-attention (§4) has a rolling cache, which holds only the newest positions. Position
p is written to the slots of position `p mod length`, over the oldest one. So the cost of a step
does not grow.

A program for a single step, such as a LiteRT program, need not copy the cache: a `KeptCache` stays
outside of the program. The step returns only the new keys and values, and the caller writes them
into the cache.

The arrays of a decoding step have two layouts. Projections work on *rows*, `[sentences · beams,
width]`, where the hypotheses of a sentence are adjacent. Attention works on *heads*, `[sentences,
heads, beams, width of a head]`.
"""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.ops import ops


class KeysValues(NamedTuple):
    """The keys and values of one attention layer, split into heads."""

    keys: Any  # [batch, heads, length, d_k]
    values: Any  # [batch, heads, length, d_v]


class KeptCache(KeysValues):
    """Keys and values outside of a step's program, which only reads them."""


def keys_values_in(cache):
    """Returns the first `KeysValues` of a model's cache, a list that may contain lists.

    All of them have slots for the same hypotheses.
    """
    while isinstance(cache, list) and cache:
        cache = cache[0]
    if not isinstance(cache, KeysValues):
        raise ValueError(
            "The cache of a decoder block must be KeysValues or a list of them. "
            f"Received: {type(cache).__name__}"
        )
    return cache


def cached_positions(length, neighbourhood=None):
    """Returns how many of `length` positions a cache holds: at most `neighbourhood`, if given."""
    if neighbourhood is None:
        return length
    smaller = min if isinstance(length, int) else ops.minimum
    return smaller(length, neighbourhood)


def extended(x, axis, length):
    """Returns `x` padded with zeros at the end of `axis`, up to `length`."""
    widths = [(0, 0)] * len(x.shape)
    widths[axis] = (0, length - ops.shape(x)[axis])
    return ops.pad(x, widths)


class DecodingStep(NamedTuple):
    """The slots that a decoding step reads and writes, computed once for all layers."""

    position: Any  # int32, a scalar, or [queries] if there are several positions
    new_slots: Any  # [sentences · queries · heads, 3]: sentence, head and slot of each new key
    visible: Any  # [sentences or 1, 1, queries, slots]: the slots that each query sees
    to_heads: Any  # [sentences · queries · heads]: indices that reorder rows into heads
    to_rows: Any  # the inverse of `to_heads`

    @property
    def queries(self):
        return self.visible.shape[2]

    @property
    def beams(self):
        """Hypotheses per sentence: a step at several positions has only one."""
        return 1 if len(self.position.shape) else self.queries

    def attend(self, attention, queries, keys, values, cache):
        """Computes causal self-attention from queries as heads, and keys and values as rows.

        Returns heads, and the cache with this position in it.
        """
        keys, values = (
            ops.reshape(x, (-1, x.shape[-1] // attention.num_heads)) for x in (keys, values)
        )
        cache = self.write(cache, keys, values)
        offsets = offsets_for(attention, self, cache)
        heads, _ = attention.heads_and_weights(queries, *cache, self.visible, offsets)
        return heads, cache

    def write(self, cache, keys, values):
        """Returns the cache with new keys and values: `[sentences · queries · heads, width]`."""
        # With an index for each vector, TensorFlow updates in place. For a slice, it copies the
        # cache.
        return KeysValues(
            ops.scatter_update(cache.keys, self.new_slots, keys),
            ops.scatter_update(cache.values, self.new_slots, values),
        )

    def split_heads(self, x, num_heads):
        """Reshapes rows to heads: `[sentences, heads, queries, width of a head]`."""
        # A row lookup and few axes keep the overhead low. For a single position, TensorFlow spends
        # more time on overhead than on products.
        width = x.shape[-1] // num_heads
        x = ops.reshape(x, (-1, width))
        if self.queries > 1:
            x = ops.take(x, self.to_heads, axis=0)
        return ops.reshape(x, (-1, num_heads, self.queries, width))

    def join_heads(self, x):
        """Reshapes heads to rows: `[sentences · queries, heads · width of a head]`."""
        _, num_heads, _, width = x.shape
        if self.queries > 1:
            x = ops.take(ops.reshape(x, (-1, width)), self.to_rows, axis=0)
        return ops.reshape(x, (-1, num_heads * width))


class KeptStep(NamedTuple):
    """A step that reads a `KeptCache`.

    All its shapes follow from the shapes of its inputs, so that LiteRT can plan it.
    """

    position: Any  # int32, a scalar, or [queries] if there are several positions
    bias: Any  # [sentences, 1, queries, slots]: 0 for earlier slots that a query sees, or −∞

    @property
    def queries(self):
        return self.bias.shape[2]

    @property
    def beams(self):
        return 1 if len(self.position.shape) else self.queries

    def attend(self, attention, queries, keys, values, cache):
        """See `DecodingStep.attend`. Returns the new keys and values instead of the cache."""
        new = KeysValues(*(self.split_heads(x, attention.num_heads) for x in (keys, values)))
        among = np.arange(self.queries)
        sees = among <= among[:, None] if self.beams == 1 else among == among[:, None]
        own = np.where(sees, 0.0, -np.inf).astype("float32")
        offsets = (among - among[:, None] if self.beams == 1 else np.zeros((1, 1))).astype("int32")
        scores = [
            attention.scores_of(queries, cache.keys, offsets_for(attention, self, cache))
            + self.bias,
            attention.scores_of(queries, new.keys, offsets) + own,
        ]
        weights = ops.softmax(ops.concatenate(scores, axis=-1))
        earlier, own = weights[..., : -self.queries], weights[..., -self.queries :]
        return ops.matmul(earlier, cache.values) + ops.matmul(own, new.values), new

    def split_heads(self, x, num_heads):
        x = ops.reshape(x, (-1, self.queries, num_heads, x.shape[-1] // num_heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def join_heads(self, x):
        _, num_heads, _, width = x.shape
        return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, num_heads * width))


def decoding_step(cache, position, beams, visible=None, rolling=False, length=1):
    """Returns the `DecodingStep` of a position, or the `KeptStep`.

    A step has several queries for a sentence: one for each hypothesis, or one for each of `length`
    successive positions of a single hypothesis.

    Args:
        cache: the `KeysValues` of any layer, from its `empty_cache`.
        position: index of the first position, from 0.
        beams: hypotheses per sentence.
        visible: boolean `[sentences, beams, slots]`: the slots that each hypothesis consists of,
            including the slot of this step. None: each beam sees its own slots. For a `KeptCache`,
            pass the `bias` of `KeptStep` without the heads axis.
        rolling: whether the cache holds only the newest positions. `visible` still covers all
            positions.
        length: number of positions; more than 1 only if `beams` is 1 and the cache does not roll.
    """
    first = ops.cast(position, "int32")
    position = first if length == 1 else first + ops.arange(length, dtype="int32")
    if isinstance(cache, KeptCache):
        return KeptStep(position, ops.expand_dims(visible, 1))
    queries = beams * length
    sentences, heads, slots, _ = ops.shape(cache.keys)
    place = first % (slots // beams) if rolling else first
    new = place * beams + ops.arange(queries, dtype="int32")
    axes = (ops.arange(sentences, dtype="int32"), new, ops.arange(heads, dtype="int32"))
    sentence, slot, head = (ops.reshape(x, (-1,)) for x in ops.meshgrid(*axes, indexing="ij"))
    rows = ops.arange(sentences * queries * heads, dtype="int32")
    to_heads, to_rows = (
        ops.reshape(ops.transpose(ops.reshape(rows, (-1, *inner)), (0, 2, 1)), (-1,))
        for inner in ((queries, heads), (heads, queries))
    )
    if visible is None:
        visible = own_slots(first if length == 1 else position[:, None], beams, slots)
    elif rolling:
        visible = in_rolling_cache(visible, position, beams, slots)
    new_slots = ops.stack([sentence, head, slot], axis=-1)
    return DecodingStep(position, new_slots, visible[:, None], to_heads, to_rows)


def own_slots(position, beams, slots):
    """Returns a mask `[1, beams, slots]`: each beam sees its own slots up to `position`.

    With positions `[queries, 1]` of one hypothesis, it is `[1, queries, slots]`.
    """
    indices = ops.arange(slots, dtype="int32")
    own = indices % beams == ops.arange(beams, dtype="int32")[:, None]
    return (own & (indices // beams <= position))[None]


def ages(position, beams, slots):
    """Returns how many positions before `position` each slot was written.

    This is int32 `[slots]`, or `[positions, slots]` for several positions. In a cache that does not
    roll, ages are correct only for slots of positions up to `position`.
    """
    positions = ops.expand_dims(position, -1)
    return (positions - ops.arange(slots, dtype="int32") // beams) % (slots // beams)


def offsets_for(attention, step, cache):
    """Returns the offset of each slot from a step's positions, int32 `[1 or queries, slots]`.

    None if an attention layer has no relative biases, which need the offsets.
    """
    if attention.relative_bias is None:
        return None
    slots = ops.shape(cache.keys)[2]
    return -ops.reshape(ages(step.position, step.beams, slots), (-1, slots))


def in_rolling_cache(visible, position, beams, slots):
    """Returns the part of a mask over all positions that a cache of `slots` slots holds.

    Shape: `[sentences, beams, slots]`.
    """
    indices = ops.arange(slots, dtype="int32")
    age = ages(position, beams, slots)
    written = position - age  # the position in each slot; negative: none
    slots_of_all = ops.maximum(written, 0) * beams + indices % beams
    return ops.take(visible, slots_of_all, axis=2) & (written >= 0)
