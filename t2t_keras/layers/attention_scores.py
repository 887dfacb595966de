"""Scores of keys for queries: dot products, scaled or not, and additive attention (§3.2.1)."""

from keras import ops

from pipelines.registry import Registry


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
