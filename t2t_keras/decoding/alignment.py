"""The cross-attention from which source and target words are aligned."""

from keras import ops


def attention_between(model, source, target):
    """Returns the cross-attention of the penultimate decoder layer, averaged over its heads.

    The penultimate layer aligns words better than its neighbors (Garg et al. 2019,
    arXiv 1909.02074). In a model with one decoder layer, that layer is used.

    Args:
        model: a `Transformer`.
        source: ids `[rows, source_length]`.
        target: ids of the translations, each with its end: `[rows, target_length]`.

    Returns:
        Weights `[rows, target_length, source_length]`, which sum to 1 over the source.
    """
    decoder_input = ops.pad(target[:, :-1], [(0, 0), (1, 0)], constant_values=1)
    layer = max(model.config.decoder_layers - 2, 0)
    weights = model.attention_weights({"source": source, "target": decoder_input})
    return ops.mean(weights[f"decoder/{layer}/cross_attention"], axis=1)
