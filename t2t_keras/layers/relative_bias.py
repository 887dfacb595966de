"""Relative positions as biases: numbers that are added to the scores of self-attention.

A bias depends on the offset of a key from its query, the key's position minus the query's. In a
cache, the slot of a key determines its position, so these offsets are enough in cached decoding.
The layers take offsets, int32 `[queries, keys]`, and return biases `[heads, queries, keys]`.
"""

import keras
import numpy as np
from keras import ops


def offsets_in(queries, keys):
    """Returns the offsets of keys from queries, int32 `[queries, keys]`, for these lengths."""
    queries, keys = (ops.arange(length, dtype="int32") for length in (queries, keys))
    return ops.expand_dims(keys, 0) - ops.expand_dims(queries, 1)


@keras.saving.register_keras_serializable("t2t_keras")
class T5Bias(keras.layers.Layer):
    """Trained biases, one for each head and bucket of offsets.

    Small distances have a bucket each; larger ones share buckets of logarithmically growing sizes.
    If the attention is not causal, half of the buckets are for keys after the query.

    T5 shares one table among all layers of a stack. Here, every layer has its own table.

    Args:
        num_heads: h.
        causal: whether all keys are before their query, or at it.
        buckets: number of buckets, even and at least 4.
        max_distance: all distances from here on share the last bucket; at least `buckets`.

    References:
        Raffel et al. 2020 (arXiv 1910.10683), §2.1.
    """

    def __init__(self, num_heads, causal, buckets=32, max_distance=128, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.causal = causal
        self.buckets = buckets
        self.max_distance = max_distance
        self.rows = buckets_of(causal, buckets, max_distance)

    def build(self, offsets_shape):
        self.table = self.add_weight(
            shape=(self.buckets, self.num_heads),
            initializer="zeros",  # no position is preferred before training
            name="table",
            autocast=False,
        )

    def call(self, offsets):
        places = ops.clip(offsets, -self.max_distance, self.max_distance) + self.max_distance
        rows = ops.take(ops.convert_to_tensor(self.rows), places)  # [queries, keys]
        return ops.transpose(ops.take(self.table, rows, axis=0), (2, 0, 1))


def buckets_of(causal, buckets, max_distance):
    """Returns the bucket of each offset from −max_distance to max_distance, an int32 array."""
    offsets = np.arange(-max_distance, max_distance + 1)
    if causal:
        distances, first = np.maximum(-offsets, 0), 0
    else:
        buckets //= 2
        distances, first = np.abs(offsets), np.where(offsets > 0, buckets, 0)
    exact = buckets // 2  # distances below this one have a bucket each
    share = np.log(np.maximum(distances, exact) / exact) / np.log(max_distance / exact)
    # Without the small summand, a distance at the beginning of a bucket could be rounded down.
    shared = exact + (share * (buckets - exact) + 1e-9).astype("int32")
    found = np.where(distances < exact, distances, np.minimum(shared, buckets - 1))
    return (found + first).astype("int32")


@keras.saving.register_keras_serializable("t2t_keras")
class ALiBiBias(keras.layers.Layer):
    """Fixed biases that fall linearly with the distance, with a different slope in each head.

    Keys after the query, in attention that is not causal, have the biases of keys before it.

    Args:
        num_heads: h.

    References:
        Press et al. 2022 (arXiv 2108.12409), §3.
    """

    def __init__(self, num_heads, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads

    def call(self, offsets):
        slopes = ops.convert_to_tensor(alibi_slopes(self.num_heads)[:, None, None])
        return -slopes * ops.cast(ops.abs(offsets), "float32")


def alibi_slopes(num_heads):
    """Returns the slopes of ALiBi, float32 `[heads]`.

    For n heads, a power of two, they are the powers of 2^(−8/n). Otherwise, let n be the next
    lower power of two: the first n heads have its slopes, the others every second slope for 2n.
    """
    n = 2 ** (num_heads.bit_length() - 1)
    slopes = 2.0 ** (-8 / n * np.arange(1, n + 1))
    between = 2.0 ** (-4 / n * np.arange(1, 2 * n + 1, 2))
    return np.concatenate([slopes, between])[:num_heads].astype("float32")
