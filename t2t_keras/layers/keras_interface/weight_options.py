"""Keras' initializers, regularizers and constraints of weights, as settings of the layers."""

import keras

# Settings of layers with `Dense` sub-layers: those of `keras.layers.Dense`.
DENSE_OPTIONS = (
    "kernel_initializer",
    "bias_initializer",
    "kernel_regularizer",
    "bias_regularizer",
    "kernel_constraint",
    "bias_constraint",
)
# Settings of `SharedEmbedding`: those of `keras.layers.Embedding`.
EMBEDDING_OPTIONS = (
    "embeddings_initializer",
    "embeddings_regularizer",
    "embeddings_constraint",
)


def taken_from(settings, names):
    """Removes the options with these names from `settings`, and returns those that are given.

    A class is replaced by an instance, as in Keras. Options that are not given stay Keras'
    defaults.
    """
    options = {name: settings.pop(name) for name in names if name in settings}
    return {name: x() if isinstance(x, type) else x for name, x in options.items()}


def for_one_layer(options):
    """Returns the options for one of several sub-layers.

    A Keras initializer without a seed draws the same numbers each time, so every sub-layer gets a
    copy with a seed of its own.
    """
    return {
        name: value.clone() if isinstance(value, keras.initializers.Initializer) else value
        for name, value in options.items()
    }


def serialized(options):
    """Returns the options as they are saved in a layer's config."""
    return {
        name: value
        if value is None or isinstance(value, str | dict)
        else keras.saving.serialize_keras_object(value)
        for name, value in options.items()
    }
