"""How many weights a model has and where they are, without making room for them."""

import math

import keras

from t2t_keras.transformer import Transformer


def parameter_counts(config):
    """Counts the trained weights of the model that `config` describes.

    The model is made without values, so that counting the largest costs no memory.

    Args:
        config: a `TransformerConfig`.

    Returns:
        A dict from the path of each weight, such as "encoder/block_0/feed_forward/norm/gamma",
        to the number of its elements.
    """
    with keras.StatelessScope(initialize_variables=False):
        model = Transformer(config, name="model")
    return {
        weight.path.removeprefix("model/"): math.prod(weight.shape)
        for weight in model.trainable_weights
    }


def grouped_counts(counts):
    """Adds up `parameter_counts` by part: embeddings and positions, each stack's sub-layers."""
    groups = {}
    for path, count in counts.items():
        part, *inside = path.split("/")
        if inside[0].startswith("block_"):
            _, sublayer, kind, *_ = inside
            part = f"{part} {sublayer.replace('_', '-')}" if kind != "norm" else f"{part} norms"
        elif inside[0] == "norm":
            part = f"{part} norms"
        groups[part] = groups.get(part, 0) + count
    return groups
