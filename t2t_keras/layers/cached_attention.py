"""Faster attention: decoding steps with a cache, and projections joined in one product.

`MultiHeadAttention` in attention.py computes whole sequences. In a search, the keys and values of
earlier positions are kept, so each step projects only the newest position.
"""

import keras
from keras import ops

from t2t_keras.decoding_cache import KeysValues, empty_cache, extended
from t2t_keras.layers.masks import over_heads


class CachedAttention:
    """Mixin of `MultiHeadAttention` with its decoding steps."""

    def decode_step(self, x, step, cache, memory_mask=None):
        """Computes one position of every hypothesis, with keys and values from a cache.

        Args:
            x: `[rows, width]`; the hypotheses of a sentence are adjacent rows.
            step: a `DecodingStep`.
            cache: `KeysValues`. For causal self-attention, from the previous step or `empty_cache`;
                for attention over a memory, from `keys_and_values(memory)`.
            memory_mask: mask over the memory.

        Returns:
            `[rows, d_model]`, and from causal self-attention also the cache with this position.
        """
        queries = step.split_heads(self.query(x), self.num_heads)
        if not self.causal:
            if self.relative_bias is not None or self.encode_heads is not None:
                raise ValueError(
                    f"Attention over a memory with positions={self.positions!r} has no decoding "
                    "steps, only calls on whole sequences"
                )
            heads, _ = self.heads_and_weights(queries, *cache, over_heads(memory_mask))
            return self.output_projection(step.join_heads(heads))
        keys, values = self.key(x), self.value(x)
        if self.encode_heads is not None:
            keys = ops.reshape(keys, (-1, self.d_k))
            queries, keys = (self.encode_heads(y, step.position) for y in (queries, keys))
            keys = ops.reshape(keys, (-1, self.num_heads * self.d_k))
        heads, cache = step.attend(self, queries, keys, values, cache)
        return self.output_projection(step.join_heads(heads)), cache

    def keys_and_values(self, memory):
        """Projects a memory `[batch, length, width]` to `KeysValues`."""
        return KeysValues(*self.project(memory, self.key, self.value))

    def empty_cache(self, sentences, length, beams=1):
        """Returns a cache of zeros for `length` positions, which `decode_step` fills."""
        slots = self.cached_positions(length) * beams
        return empty_cache(sentences, slots, self.num_heads, self.d_k, self.d_v, self.compute_dtype)

    def extend_cache(self, cache, length, beams=1):
        """Returns a cache that is extended by zeros to `length` positions."""
        slots = self.cached_positions(length) * beams
        return KeysValues(*(extended(x, 2, slots) for x in cache))

    def cached_positions(self, length):
        """Returns how many of `length` positions a cache holds. Here, it holds all of them."""
        return length


def can_be_joined(layers):
    """Returns whether projections are plain `Dense` layers.

    A user may have replaced some, and the kernels of quantized ones are integers.
    """
    return all(
        type(layer) is keras.layers.Dense and layer.quantization_mode is None for layer in layers
    )


def joined_projections(x, layers):
    """Returns the outputs of several `Dense` layers side by side, computed in one product."""
    outputs = ops.matmul(x, ops.concatenate([layer.kernel for layer in layers], axis=1))
    if layers[0].use_bias:
        outputs = outputs + ops.concatenate([layer.bias for layer in layers])
    return outputs
