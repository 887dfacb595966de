"""Counts of a model's weights, by path and by part, without allocating them."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import keras

from t2t_keras.transformer import Transformer


def parameter_counts(config):
    """Counts the trainable weights of the model that `config` describes.

    All blocks of a stack have the same shapes, so the model is built with one block per stack,
    and that block is counted once for each layer.

    Args:
        config: a `TransformerConfig`.

    Returns:
        A dict from the path of each weight, such as "encoder/block_0/feed_forward/norm/gamma",
        to the number of its elements.
    """
    model = without_values(
        lambda: Transformer(
            dataclasses.replace(config, num_layers=1, decoder_layers=1), name="model"
        )
    )
    one_block = {
        weight.path.removeprefix("model/"): math.prod(weight.shape)
        for weight in model.trainable_weights
    }
    layers = dict(zip(("encoder", "decoder"), config.layers, strict=True))
    return {
        path.replace("/block_0/", f"/block_{i}/"): count
        for path, count in one_block.items()
        for i in range(layers[path.split("/")[0]] if "/block_0/" in path else 1)
    }


def without_values(make):
    """Returns the model that a function makes, with weights that have shapes and no values."""

    def in_scope():
        with keras.StatelessScope(initialize_variables=False):
            return make()

    # Keras would initialize the weights later, in the same thread.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(in_scope).result()


def grouped_counts(counts):
    """Sums `parameter_counts` by part: embeddings, positions, and each stack's sub-layers."""
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
