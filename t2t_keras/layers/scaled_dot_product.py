"""Scaled dot-product attention (§3.2.1), `softmax(Q Kᵀ / √d_k) V`, and other kinds of scores."""

from keras import ops

from pipelines.registry import Registry
from t2t_keras.layers.masks import Bias
from t2t_keras.layers.numerics import at_least_float32

# Finite, so that a fully masked row yields numbers instead of NaN, and so far below any real
# score that exp(FORBIDDEN - maximum) is exactly 0 in float32.
FORBIDDEN = -1e30


def scaled_dot_product_attention(queries, keys, values, mask=None, dropout=None):
    """Computes `softmax(Q Kᵀ / √d_k) V`, with the softmax in float32.

    Args:
        queries: `[..., queries, d_k]`.
        keys: `[..., keys, d_k]`.
        values: `[..., keys, d_v]`.
        mask: boolean, broadcasts to `[..., queries, keys]`; True where a query may attend to a
            key. A query without any such key gets zeros.
        dropout: a function applied to the weights before they are multiplied by the values.

    Returns:
        The outputs `[..., queries, d_v]` and the weights `[..., queries, keys]` (before
        dropout).
    """
    return weighted_values(scaled_scores(queries, keys), values, mask, dropout)


def weighted_values(scores, values, mask=None, dropout=None):
    """Computes `softmax(scores) V`; see `scaled_dot_product_attention`."""
    scores = at_least_float32(scores)
    if isinstance(mask, Bias):
        scores, mask = scores + mask.values, None
    if mask is not None:
        scores = ops.where(mask, scores, FORBIDDEN)
    # The softmax over a single key is 1, and keras.ops.softmax would warn about it.
    weights = ops.softmax(scores) if scores.shape[-1] != 1 else ops.ones_like(scores)
    dropped = dropout(weights) if dropout is not None else weights
    outputs = ops.matmul(ops.cast(dropped, values.dtype), values)
    if mask is None:
        return outputs, weights
    # The zeros are set in each result separately. Computing the outputs from the final weights
    # would need a second array of the weights' size in the backward pass.
    any_key = ops.any(mask, axis=-1, keepdims=True)
    return outputs * ops.cast(any_key, outputs.dtype), weights * ops.cast(any_key, weights.dtype)


def fused_attention(queries, keys, values, mask=None):
    """Computes the outputs of `scaled_dot_product_attention` by the fused function of JAX.

    Queries, keys and values are `[batch, heads, length, width]`.
    """
    sequences = (ops.transpose(x, (0, 2, 1, 3)) for x in (queries, keys, values))
    outputs = ops.transpose(ops.dot_product_attention(*sequences, mask=mask), (0, 2, 1, 3))
    if mask is None:
        return outputs
    return outputs * ops.cast(ops.any(mask, axis=-1, keepdims=True), outputs.dtype)


def scaled_scores(queries, keys):
    """Computes `Q Kᵀ / √d_k`, `[..., queries, keys]`."""
    return unscaled_scores(queries * queries.shape[-1] ** -0.5, keys)


def unscaled_scores(queries, keys):
    """Computes `Q Kᵀ`, `[..., queries, keys]`."""
    return ops.einsum("...qd,...kd->...qk", queries, keys)


def additive_scores(queries, keys, vector):
    """Computes `v · tanh(q + k)` for each query and key (Bahdanau et al. 2015).

    Queries and keys are projected heads, `vector` is `[heads, d_k]`. Unlike a dot product, this
    needs memory for d_k numbers per pair of query and key.
    """
    # LiteRT cannot insert an axis by indexing with None.
    sums = ops.tanh(ops.expand_dims(queries, -2) + ops.expand_dims(keys, -3))
    *shape, d_k = ops.shape(sums)
    if vector.shape[0] == 1:
        # TensorFlow crashes on CPUs with oneDNN if all matrices are multiplied by the same column.
        return ops.reshape(ops.matmul(ops.reshape(sums, (-1, d_k)), ops.transpose(vector)), shape)
    # One product per head is faster on CPUs than one per query.
    rows = ops.reshape(sums, (*shape[:-2], -1, d_k))  # [batch, heads, ..., queries · keys, d_k]
    middle = (1,) * (len(queries.shape) - 4)
    vector = ops.reshape(vector, (vector.shape[0], *middle, d_k, 1))
    return ops.reshape(ops.matmul(rows, vector), shape)


# The choices of `TransformerConfig.attention`. Only additive attention has additional weights.
SCORES = Registry(
    "SCORES",
    "model.attention",
    {"scaled": scaled_scores, "unscaled": unscaled_scores, "additive": additive_scores},
)
