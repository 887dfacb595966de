"""Cross-attention weights that align source and target words."""

import dataclasses

from t2t_keras.checks import check
from t2t_keras.decoding.rows import BEGIN
from t2t_keras.guided_alignment import aligning_layer
from t2t_keras.ops import ops

# {kind of attention: name of its sub-layer in a model; {} is the index of the layer}
ATTENTIONS = {
    "encoder": "encoder/{}/self_attention",
    "decoder": "decoder/{}/self_attention",
    "cross": "decoder/{}/cross_attention",
}


@dataclasses.dataclass(frozen=True)
class AlignmentHead:
    """Selects the cross-attention weights that align words. Layers and heads are counted from 0.

    Args:
        layer: index of the decoder layer. None: `aligning_layer`.
        head: index of the attention head. None: the mean of all heads.
        shifted: align a token by the step that takes it as input, not by the step that predicts
            it (Chen et al. 2020, arXiv 2004.14837).
    """

    layer: int | None = None
    head: int | None = None
    shifted: bool = False

    def layer_of(self, layers):
        """Returns the index of the layer in a model with `layers` decoder layers."""
        return aligning_layer(layers) if self.layer is None else self.layer

    def check(self, layers, heads):
        """Rejects a layer or head that a model with these numbers of them does not have."""
        for name, index, count in (("layer", self.layer, layers), ("head", self.head, heads)):
            is_right = index is None or (type(index) is int and 0 <= index < count)
            check(is_right, name, index, f"from 0 to {count - 1} in this model")


def alignment_heads(config):
    """Returns all `AlignmentHead`s of a model: every head and layer mean, shifted or not."""
    heads = [None, *range(config.num_heads)]
    return [
        AlignmentHead(layer, head, shifted)
        for shifted in (False, True)
        for layer in range(config.attention_layers[2])
        for head in heads
    ]


def attention_between(model, source, target, choice=None):
    """Returns cross-attention `[rows, target_length, source_length]` that aligns the words.

    `source` and `target` are ids with the end token, `choice` is an `AlignmentHead` or None for the
    default. The weights sum to 1 over the source.
    """
    choice = choice or AlignmentHead()
    choice.check(model.config.attention_layers[2], model.config.num_heads)
    return chosen(cross_attention(model, source, target), choice)


def cross_attention(model, source, target):
    """Returns the weights of each decoder layer: `[rows, heads, target_length, source_length]`."""
    if not model.config.attention_layers[2]:
        raise ValueError(
            "This model has no attention to the source, so its words cannot be aligned. "
            f"Received: a {type(model).__name__}"
        )
    weights = all_attention(model, source, target).get("cross")
    if weights is None:
        raise ValueError(
            "The words cannot be aligned, because the model's decoder blocks return no weights "
            "named 'cross_attention'"
        )
    return [weights[:, layer] for layer in range(model.config.attention_layers[2])]


def all_attention(model, source, target):
    """Returns {kind of attention: weights `[rows, layers, heads, queries, keys]`}.

    The kinds are those in `ATTENTIONS` that all blocks of the model have. In "decoder" and "cross",
    query i predicts target token i. For the arguments, see `attention_between`.
    """
    read = ops.pad(target[:, :-1], [(0, 0), (1, 0)], constant_values=BEGIN)
    weights = model.attention_weights({"source": source, "target": read})
    found = {}
    for (kind, name), count in zip(ATTENTIONS.items(), model.config.attention_layers, strict=True):
        names = [name.format(layer) for layer in range(count)]
        if count and all(each in weights for each in names):
            found[kind] = ops.stack([weights[each] for each in names], axis=1)
    return found


def chosen(layers, choice):
    """Selects the weights of an `AlignmentHead` from the weights of all layers."""
    weights = layers[choice.layer_of(len(layers))]
    weights = ops.mean(weights, axis=1) if choice.head is None else weights[:, choice.head]
    if not choice.shifted:
        return weights
    # No step takes the last token as input: it is the end token, or the output was cut off.
    return ops.concatenate([weights[:, 1:], weights[:, -1:]], axis=1)
