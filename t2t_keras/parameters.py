"""Counts of a model's weights, by path and by part, without allocating them."""

import math
from concurrent.futures import ThreadPoolExecutor

import keras

from t2t_keras.models import model_class


def parameter_counts(config):
    """Counts the trainable weights of the model that `config` describes.

    Args:
        config: the settings of any model in `MODELS`.

    Returns:
        A dict from the path of each weight, such as "encoder/block_0/feed_forward/norm/gamma",
        to the number of its elements.
    """
    model = without_values(lambda: model_class(config)(config, name="model"))
    return {
        weight.path.removeprefix("model/"): math.prod(weight.shape)
        for weight in model.trainable_weights
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
