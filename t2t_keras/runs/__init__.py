"""Python interface of runs. A run is a folder with a trained model.

from t2t_keras.runs import Run

run = Run("runs/mine")
print(run.translate("The dog sleeps."))
"""

import contextlib
import importlib
import os
import sys

_HOMES = {
    "Run": "t2t_keras.runs.run",
    "load_translator": "t2t_keras.runs.open_engine",
    "train": "t2t_keras.runs.training.train",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    # Imported lazily, because each needs TensorFlow and Keras.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _notes_dropped():
        found = getattr(importlib.import_module(_HOMES[name]), name)
        importlib.import_module("t2t_keras.training.hardware.devices").prepare_devices()
    return found


@contextlib.contextmanager
def _notes_dropped():
    """Drops the notes that TensorFlow's libraries write to descriptor 2 while they are loaded.

    The variable TF_CPP_MIN_LOG_LEVEL, with any value, shows them.
    """
    if "TF_CPP_MIN_LOG_LEVEL" in os.environ or "tensorflow" in sys.modules:
        yield
        return
    with open(os.devnull, "w") as nothing:
        kept = os.dup(2)
        os.dup2(nothing.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
