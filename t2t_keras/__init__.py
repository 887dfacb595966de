"""The Transformer of "Attention Is All You Need", for Keras 3.

Importing this package loads neither Keras nor TensorFlow. When any module loads Keras, all classes
are registered with it, so that `keras.saving.load_model` finds them.
"""

import importlib
import os
import sys

from t2t_keras.registering import RegisteringFinder

_HOMES = {
    "LabelSmoothedCrossEntropy": "t2t_keras.losses:LabelSmoothedCrossEntropy",
    "Perplexity": "t2t_keras.metrics:Perplexity",
    "TokenAccuracy": "t2t_keras.metrics:TokenAccuracy",
    "Transformer": "t2t_keras.training.step.trainable_models:TrainableTransformer",
    "TransformerConfig": "t2t_keras.transformer_config:TransformerConfig",
    "TransformerSchedule": "t2t_keras.schedules:TransformerSchedule",
}
__all__ = sorted(_HOMES)

__version__ = "0.1.0"


def __getattr__(name):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def _is_command():
    """Returns whether this process is one of the package's commands."""
    words = iter(sys.orig_argv[1:])
    program = next((word for word in words if word == "-m" or not word.startswith("-")), "")
    if program == "-m":
        return next(words, "").startswith("t2t_keras.cli.")
    return os.path.basename(program).startswith("t2t-")


def _register():
    """Imports all classes, which registers them with Keras."""
    globals().update({name: __getattr__(name) for name in __all__})


# A command loads Keras later, after it has handled --help and wrong flags, and needs only the
# classes that it imports.
if _is_command():
    importlib.import_module("t2t_keras.cli.process.streams").begin()
elif sys.modules.get("keras") is not None:
    _register()
else:
    sys.meta_path.insert(0, RegisteringFinder(__name__, _register))
