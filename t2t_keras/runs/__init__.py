"""Python interface of runs. A run is a folder with a trained model.

from t2t_keras.runs import Run

run = Run("runs/mine")
print(run.translate("The dog sleeps."))
"""

import importlib

from t2t_keras.quiet_loading import quiet_loading

_HOMES = {
    "Run": "t2t_keras.runs.run",
    "compare": "t2t_keras.runs.comparing.compare",
    "load_translator": "t2t_keras.runs.open_engine",
    "sweep": "t2t_keras.runs.training.sweep",
    "train": "t2t_keras.runs.training.train",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    # Imported lazily, because each needs TensorFlow and Keras.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with quiet_loading():
        found = getattr(importlib.import_module(_HOMES[name]), name)
        importlib.import_module("t2t_keras.training.hardware.devices").prepare_devices()
    return found
