"""The Transformer of "Attention Is All You Need", for Keras 3.

Importing this package loads neither Keras nor its backend.
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


class _AfterKeras:
    """Registers all classes with Keras as soon as a program imports it.

    So `keras.saving.load_model` finds them, and a program that does not need Keras starts at once.
    """

    def find_spec(self, name, path=None, target=None):
        if name != "keras":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None:
            execute = spec.loader.exec_module

            def exec_module(module):
                execute(module)
                _register()

            spec.loader.exec_module = exec_module
        return spec


def _register():
    globals().update({name: __getattr__(name) for name in __all__})


# A command loads Keras later, after it has handled --help and wrong flags.
if _is_command():
    importlib.import_module("t2t_keras.cli.process").begin()
elif "keras" in sys.modules:
    _register()
else:
    sys.meta_path.insert(0, _AfterKeras())
