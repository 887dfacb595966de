"""Training on TensorFlow: the training step, the trainer, checkpoints."""

import importlib

__all__ = ["Adam", "TrainableTransformer", "trainable"]


def __getattr__(name):
    # Imported lazily, because checkpoints and settings can be read without Keras.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("t2t_keras.training.step.trainable_models"), name)
