"""The forward pass of the paper in NumPy float64, written from its formulas alone.

It shares no code with the layers, loops over heads where they batch, and serves as the
measure of what they compute.
"""

import numpy as np


def forward(weights, config, source, target):
    """Logits `[batch, target_length, vocabulary]`.

    Args:
        weights: a dict from path ("encoder/block_0/…/kernel") to float64 array.
        config: a resolved `TransformerConfig`.
        source, target: integer ids `[batch, length]`.
    """
    return np.stack(
        [forward_pair(weights, config, s, t) for s, t in zip(source, target, strict=True)]
    )


def forward_pair(weights, config, source, target):
    matrix = weights["embedding/matrix"]
    allowed_source = source != 0

    x = embed(weights, config, matrix, source, "source_positions")
    for i in range(config.num_layers):
        block = f"encoder/block_{i}"
        everywhere = np.tile(allowed_source, (len(source), 1))
        x = residual(
            weights,
            config,
            f"{block}/self_attention",
            x,
            lambda y, block=block, allowed=everywhere: attention(
                weights, config, f"{block}/self_attention/attention", y, y, allowed
            ),
        )
        x = residual(weights, config, f"{block}/feed_forward", x, network(weights, block))
    memory = last_norm(weights, config, "encoder", x)

    y = embed(weights, config, matrix, target, "target_positions")
    n = len(target)
    no_future = np.tril(np.ones((n, n), bool))
    over_source = np.tile(allowed_source, (n, 1))
    for i in range(config.num_layers):
        block = f"decoder/block_{i}"
        y = residual(
            weights,
            config,
            f"{block}/self_attention",
            y,
            lambda q, block=block: attention(
                weights, config, f"{block}/self_attention/attention", q, q, no_future
            ),
        )
        y = residual(
            weights,
            config,
            f"{block}/cross_attention",
            y,
            lambda q, block=block: attention(
                weights, config, f"{block}/cross_attention/attention", q, memory, over_source
            ),
        )
        y = residual(weights, config, f"{block}/feed_forward", y, network(weights, block))
    return last_norm(weights, config, "decoder", y) @ matrix.T


def embed(weights, config, matrix, ids, positions):
    d = config.d_model
    x = matrix[ids] * np.sqrt(d)
    if config.positions == "learned":
        return x + weights[f"{positions}/table"][: len(ids)]
    encoding = np.zeros((len(ids), d))
    for pos in range(len(ids)):
        for i in range(d // 2):
            angle = pos / 10000 ** (2 * i / d)
            encoding[pos, 2 * i] = np.sin(angle)
            encoding[pos, 2 * i + 1] = np.cos(angle)
    return x + encoding


def residual(weights, config, path, x, sublayer):
    def norm(v):
        return layer_norm(v, weights[f"{path}/norm/gamma"], weights[f"{path}/norm/beta"], config)

    return x + sublayer(norm(x)) if config.pre_norm else norm(x + sublayer(x))


def last_norm(weights, config, stack, x):
    if not config.pre_norm:
        return x
    return layer_norm(x, weights[f"{stack}/norm/gamma"], weights[f"{stack}/norm/beta"], config)


def layer_norm(x, gamma, beta, config):
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + config.norm_epsilon)
    return centred / deviation * gamma + beta


def attention(weights, config, path, queries, memory, allowed):
    heads = []
    for h in range(config.num_heads):
        narrow = slice(h * config.d_k, (h + 1) * config.d_k)
        wide = slice(h * config.d_v, (h + 1) * config.d_v)
        q = queries @ weights[f"{path}/query/kernel"][:, narrow]
        k = memory @ weights[f"{path}/key/kernel"][:, narrow]
        v = memory @ weights[f"{path}/value/kernel"][:, wide]
        scores = np.where(allowed, q @ k.T / np.sqrt(config.d_k), -np.inf)
        exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads.append(exponentials / exponentials.sum(axis=-1, keepdims=True) @ v)
    return np.concatenate(heads, axis=-1) @ weights[f"{path}/output/kernel"]


def network(weights, block):
    path = f"{block}/feed_forward/network"

    def apply(x):
        inner = x @ weights[f"{path}/inner/kernel"] + weights[f"{path}/inner/bias"]
        return (
            np.maximum(0, inner) @ weights[f"{path}/outer/kernel"] + weights[f"{path}/outer/bias"]
        )

    return apply
