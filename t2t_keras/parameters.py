"""Counts a model's weights and its multiplications, without allocating the weights."""

import math
from concurrent.futures import ThreadPoolExecutor

import keras

from t2t_keras.models import model_class

# Layers whose tables are looked up, not multiplied. A tied embedding matrix also computes logits.
LOOKED_UP = {"embedding", "source_embedding", "source_positions", "target_positions"}


def parameter_counts(config):
    """Returns {path: number of elements}; see `weight_shapes`."""
    return {path: math.prod(shape) for path, shape in weight_shapes(config).items()}


def weight_shapes(config):
    """Returns {path: shape} of the trainable weights of the model that a config describes.

    `config` has the settings of any model in `MODELS`. A path is, for example,
    "encoder/block_0/feed_forward/norm/gamma".
    """
    model = without_values(lambda: model_class(config)(config, name="model"))
    return {weight.path.removeprefix("model/"): weight.shape for weight in model.trainable_weights}


def without_values(make):
    """Calls a function that makes a model, and gives the weights shapes but no values."""

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
        if not inside:  # a weight of the model itself
            pass
        elif inside[0].startswith("block_") and len(inside) > 2:
            _, sublayer, kind, *_ = inside
            part = f"{part} {sublayer.replace('_', '-')}" if kind != "norm" else f"{part} norms"
        elif inside[0] == "norm":
            part = f"{part} norms"
        groups[part] = groups.get(part, 0) + count
    return groups


def training_operations(config, rows, length):
    """Returns the floating-point operations of the matrix products in a training step.

    Each matrix is multiplied `config.use_of(path)` times, usually once, for each token of its side.
    A multiplication counts as two operations, and the backward pass as two forward passes.

    Args:
        config: the settings of any model in `MODELS`.
        rows: sentence pairs in the batch.
        length: tokens of each source and of each target.
    """
    config = config.resolved()
    products = config.attention_products(length)
    if config.tie_output:
        products += config.vocab_size * config.d_model
    for path, shape in weight_shapes(config).items():
        parts = path.split("/")
        if len(shape) > 1 and parts[0] not in LOOKED_UP and "relative_bias" not in parts:
            products += config.use_of(path) * math.prod(shape)
    return 3 * 2 * rows * length * products
