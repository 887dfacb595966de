"""The cross-attention from which source and target words are aligned."""

import dataclasses

from t2t_keras.decoding.rows import BEGIN
from t2t_keras.ops import ops

# The kinds of attention, and the names of their layers in a model.
ATTENTIONS = {
    "encoder": "encoder/{}/self_attention",
    "decoder": "decoder/{}/self_attention",
    "cross": "decoder/{}/cross_attention",
}


@dataclasses.dataclass(frozen=True)
class AlignmentHead:
    """A choice of the cross-attention that aligns words. Layers and heads count from 0.

    Args:
        layer: decoder layer. None: the penultimate one, which aligns words better than its
            neighbors (Garg et al. 2019, arXiv 1909.02074), or the only one.
        head: attention head. None: the mean of all heads.
        shifted: use the weights of the step that reads a token instead of those of the step that
            writes it (Chen et al. 2020, arXiv 2004.14837).
    """

    layer: int | None = None
    head: int | None = None
    shifted: bool = False

    def layer_of(self, layers):
        """Returns the layer among so many decoder layers."""
        return max(layers - 2, 0) if self.layer is None else self.layer

    def check(self, config):
        """Rejects a layer or head that a model does not have."""
        self.check_counts(config.attention_layers[2], config.num_heads)

    def check_counts(self, layers, heads):
        counts = {"layer": layers, "head": heads}
        for name, count in counts.items():
            index = getattr(self, name)
            if index is not None and (type(index) is not int or not 0 <= index < count):
                raise ValueError(
                    f"`{name}` must be from 0 to {count - 1} in this model. Received: "
                    f"{name}={index!r}"
                )


def alignment_heads(config):
    """Returns every `AlignmentHead` of a model: each head and the mean of each layer."""
    heads = [None, *range(config.num_heads)]
    return [
        AlignmentHead(layer, head, shifted)
        for shifted in (False, True)
        for layer in range(config.attention_layers[2])
        for head in heads
    ]


def attention_between(model, source, target, choice=None):
    """Returns the cross-attention that aligns the words of a translation.

    Args:
        model: a `SequenceModel` with cross-attention.
        source: ids `[rows, source_length]`.
        target: ids of the translations, each with its end: `[rows, target_length]`.
        choice: an `AlignmentHead`. None: the default one.

    Returns:
        Weights `[rows, target_length, source_length]`, which sum to 1 over the source.
    """
    choice = choice or AlignmentHead()
    choice.check(model.config)
    return chosen(cross_attention(model, source, target), choice)


def cross_attention(model, source, target):
    """Returns `[rows, heads, target_length, source_length]` for each decoder layer."""
    check_attends(model)
    weights = all_attention(model, source, target)["cross"]
    return [weights[:, layer] for layer in range(model.config.attention_layers[2])]


def all_attention(model, source, target):
    """Returns the weights of all heads that a model reads a source and writes a target with.

    Args:
        model, source, target: see `attention_between`.

    Returns:
        `encoder`, `decoder` and `cross`, each `[rows, layers, heads, queries, keys]`. Row i of the
        queries of `decoder` and `cross` writes target token i. Kinds that the model lacks are left
        out.
    """
    read = ops.pad(target[:, :-1], [(0, 0), (1, 0)], constant_values=BEGIN)
    weights = model.attention_weights({"source": source, "target": read})
    layers = zip(ATTENTIONS.items(), model.config.attention_layers, strict=True)
    return {
        kind: ops.stack([weights[name.format(layer)] for layer in range(count)], axis=1)
        for (kind, name), count in layers
        if count
    }


def check_attends(model):
    """Rejects a model without attention to the source."""
    if not model.config.attention_layers[2]:
        raise ValueError(
            "This model has no attention to the source, so its words cannot be aligned. "
            f"Received: a {type(model).__name__}"
        )


def chosen(layers, choice):
    """Returns the weights of an `AlignmentHead` among those of all layers."""
    weights = layers[choice.layer_of(len(layers))]
    weights = ops.mean(weights, axis=1) if choice.head is None else weights[:, choice.head]
    if not choice.shifted:
        return weights
    # No step reads the last token, which is the end unless the output was cut off.
    return ops.concatenate([weights[:, 1:], weights[:, -1:]], axis=1)
