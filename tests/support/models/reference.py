"""The paper's forward pass in NumPy float64, written from its formulas.

It shares no code with the layers and loops over heads and sentences. The tests compare the model's
logits with it.
"""

import math

import numpy as np


def forward(weights, config, source, target):
    """Returns logits `[batch, target_length, vocabulary]`."""
    return np.stack(
        [forward_pair(weights, config, s, t) for s, t in zip(source, target, strict=True)]
    )


def forward_pair(weights, config, source, target):
    matrix = weights["embedding/matrix"]
    source_matrix = weights.get("source_embedding/matrix", matrix)
    output_matrix = weights.get("output_embedding/matrix", matrix)
    allowed_source = (source != 0) & (config.source_end | (source != 2))

    x = embed(weights, config, source_matrix, source, "source_positions")
    everywhere = np.tile(allowed_source, (len(source), 1)) & near(len(source), config.neighbourhood)
    for i in range(config.num_layers):
        x = attend(weights, config, f"encoder/block_{i}/self_attention", x, None, everywhere)
        x = feed_forward(weights, config, f"encoder/block_{i}/feed_forward", x)
    memory = last_norm(weights, config, "encoder", x)

    y = embed(weights, config, matrix, target, "target_positions")
    n = len(target)
    no_future = np.tril(np.ones((n, n), bool))
    if config.decoder_neighbourhood is not None:
        no_future = no_future & ~np.tril(np.ones((n, n), bool), -config.decoder_neighbourhood)
    over_source = np.tile(allowed_source, (n, 1))
    for i in range(config.decoder_layers):
        block = f"decoder/block_{i}"
        y = attend(weights, config, f"{block}/self_attention", y, None, no_future)
        y = attend(weights, config, f"{block}/cross_attention", y, memory, over_source)
        y = feed_forward(weights, config, f"{block}/feed_forward", y)
    logits = last_norm(weights, config, "decoder", y) @ output_matrix.T
    return logits + weights.get("output_embedding/bias", weights.get("embedding/bias", 0))


def embed(weights, config, matrix, ids, positions):
    d = config.d_model
    x = matrix[ids] * (config.embedding_scale or np.sqrt(d))
    first = config.position_offset
    if config.positions == "learned":
        return x + weights[f"{positions}/table"][first : first + len(ids)]
    if config.positions in ("none", "t5", "alibi"):
        return x
    angles, sines, cosines = {
        "sinusoidal": (lambda i: 2 * i / d, slice(0, d, 2), slice(1, d, 2)),
        "concatenated": (lambda i: i / (d / 2 - 1), slice(d // 2), slice(d // 2, d)),
        "hugging_face": (lambda i: 2 * i / d, slice(d // 2), slice(d // 2, d)),
    }[config.positions]
    encoding = np.zeros((len(ids), d))
    for row in range(len(ids)):
        angle = (first + row) / 10000 ** angles(np.arange(d // 2))
        encoding[row, sines], encoding[row, cosines] = np.sin(angle), np.cos(angle)
    return x + encoding


def near(n, size):
    """Returns which positions each position sees: `size` around it; None: all."""
    allowed = np.ones((n, n), bool)
    for i in range(n if size else 0):
        first = i - size // 2
        allowed[i] = [first <= j < first + size for j in range(n)]
    return allowed


def residual(weights, config, path, x, sublayer):
    def norm(v):
        if not config.layer_norm:
            return v
        return layer_norm(v, weights[f"{path}/norm/gamma"], weights[f"{path}/norm/beta"], config)

    kept = x if config.residual else 0
    return kept + sublayer(norm(x)) if config.pre_norm else norm(kept + sublayer(x))


def last_norm(weights, config, stack, x):
    if not (config.pre_norm and config.layer_norm):
        return x
    return layer_norm(x, weights[f"{stack}/norm/gamma"], weights[f"{stack}/norm/beta"], config)


def layer_norm(x, gamma, beta, config):
    centered = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centered**2).mean(axis=-1, keepdims=True) + config.norm_epsilon)
    return centered / deviation * gamma + beta


def attend(weights, config, path, x, memory, allowed):
    """Computes attention over x itself (memory=None) or a memory, inside `residual`."""

    def attention(y):
        keys = y if memory is None else memory
        return all_heads(weights, config, f"{path}/attention", y, keys, allowed)

    return residual(weights, config, path, x, attention)


def all_heads(weights, config, path, queries, memory, allowed):
    heads = []
    for h in range(config.num_heads):
        narrow = slice(h * config.d_k, (h + 1) * config.d_k)
        wide = slice(h * config.d_v, (h + 1) * config.d_v)
        q = affine(weights, f"{path}/query", queries)[:, narrow]
        k = affine(weights, f"{path}/key", memory)[:, narrow]
        v = affine(weights, f"{path}/value", memory)[:, wide]
        scores = np.where(allowed, score(weights, config, path, h, q, k), -np.inf)
        # A query that sees no key has weights of 0.
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-1e300))
        sums = np.maximum(exponentials.sum(axis=-1, keepdims=True), 1e-300)
        heads.append(exponentials / sums @ v)
    return affine(weights, f"{path}/output", np.concatenate(heads, axis=-1))


def score(weights, config, path, head, q, k):
    if config.attention == "additive":
        vector = weights[f"{path}/score_vector"][head]
        scores = np.array([[vector @ np.tanh(a + b) for b in k] for a in q])
    else:
        scores = q @ k.T / (np.sqrt(config.d_k) if config.attention == "scaled" else 1)
    if "self_attention" in path and config.positions in ("t5", "alibi"):
        for i in range(len(q)):
            for j in range(len(k)):
                scores[i, j] += relative_bias(weights, config, path, head, i, j)
    return scores


def relative_bias(weights, config, path, head, query, key):
    """Returns the bias of a query's and a key's position, after the papers' own code."""
    if config.positions == "alibi":
        return -alibi_slopes(config.num_heads)[head] * abs(query - key)
    buckets, bucket, distance = 32, 0, query - key
    if path.startswith("encoder"):
        buckets = 16
        bucket, distance = (16 if key > query else 0), abs(distance)
    distance = max(distance, 0)
    exact = buckets // 2
    if distance < exact:
        bucket += distance
    else:
        share = math.log2(distance / exact) / math.log2(128 / exact)
        bucket += min(exact + math.floor(share * (buckets - exact)), buckets - 1)
    return weights[f"{path}/relative_bias/table"][bucket, head]


def alibi_slopes(heads):
    if math.log2(heads).is_integer():
        return [2 ** (-8 * i / heads) for i in range(1, heads + 1)]
    lower = 2 ** math.floor(math.log2(heads))
    return alibi_slopes(lower) + alibi_slopes(2 * lower)[0::2][: heads - lower]


def affine(weights, path, x):
    return x @ weights[f"{path}/kernel"] + weights.get(f"{path}/bias", 0)


ACTIVATIONS = {
    "relu": lambda x: np.maximum(0, x),
    "swish": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_sigmoid": lambda x: x / (1 + np.exp(-1.702 * x)),
}


def feed_forward(weights, config, path, x):
    def network(y):
        inner = ACTIVATIONS[config.activation](affine(weights, f"{path}/network/inner", y))
        return affine(weights, f"{path}/network/outer", inner)

    return residual(weights, config, path, x, network)
