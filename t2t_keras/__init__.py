"""The Transformer of "Attention Is All You Need", for Keras 3.

Importing this package loads neither Keras nor TensorFlow: its names are loaded when they are used.
"""

import importlib

_HOMES = {
    "LabelSmoothedCrossEntropy": "losses",
    "Perplexity": "metrics",
    "TokenAccuracy": "metrics",
    "Transformer": "training.step.trainable_models",
    "TransformerConfig": "transformer_config",
    "TransformerSchedule": "schedules",
}
__all__ = sorted(_HOMES)

__version__ = "0.1.0"


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(module, "TrainableTransformer" if name == "Transformer" else name)
