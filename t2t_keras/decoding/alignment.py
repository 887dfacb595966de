"""Which source tokens a translation was written from: what its cross-attention looked at."""

from keras import ops


def attention_between(model, source, target):
    """Mean over the heads of one layer, the last but one: the layers around it align worse
    (Garg et al. 2019, arXiv 1909.02074).

    Args:
        model: a `Transformer`.
        source: ids `[rows, source_length]`.
        target: what was written, its end included: ids `[rows, target_length]`.

    Returns:
        `[rows, target_length, source_length]`; each row of what was written sums to 1.
    """
    read = ops.pad(target[:, :-1], [(0, 0), (1, 0)], constant_values=1)
    layer = max(model.config.num_layers - 2, 0)
    weights = model.attention_weights({"source": source, "target": read})
    return ops.mean(weights[f"decoder/{layer}/cross_attention"], axis=1)
