"""The Transformer of "Attention Is All You Need", for Keras 3.

Importing this package loads only Keras and its configured backend, if Keras is installed.
"""

import importlib
import importlib.util
import os
import sys

_HOMES = {
    "LabelSmoothedCrossEntropy": "t2t_keras.losses:LabelSmoothedCrossEntropy",
    "Perplexity": "t2t_keras.metrics:Perplexity",
    "TokenAccuracy": "t2t_keras.metrics:TokenAccuracy",
    "Transformer": "t2t_keras.training:TrainableTransformer",
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


def _has_keras():
    """Returns whether Keras can be imported; a program on LiteRT or CTranslate2 needs none."""
    if "keras" in sys.modules:
        return sys.modules["keras"] is not None
    return importlib.util.find_spec("keras") is not None


# In a program, all classes are registered with Keras now, so that `keras.saving.load_model` finds
# them. A command loads Keras later, after it has handled --help and wrong flags.
if _is_command():
    importlib.import_module("t2t_keras.cli.process").begin()
elif _has_keras():
    globals().update({name: __getattr__(name) for name in __all__})
