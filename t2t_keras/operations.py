"""The floating-point operations of a model's matrix products, from the shapes of its weights."""

import math

from t2t_keras.models import model_class
from t2t_keras.parameters import without_values

# Layers whose tables are looked up. A tied embedding matrix also computes the logits.
LOOKED_UP = {"embedding", "source_embedding", "source_positions", "target_positions"}


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
    model = without_values(lambda: model_class(config)(config, name="model"))
    products = config.attention_products(length)
    if config.tie_output:
        products += config.vocab_size * config.d_model
    for weight in model.trainable_weights:
        path = weight.path.removeprefix("model/")
        if len(weight.shape) > 1 and path.split("/")[0] not in LOOKED_UP:
            products += config.use_of(path) * math.prod(weight.shape)
    return 3 * 2 * rows * length * products
