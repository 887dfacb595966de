"""Python interface of runs. A run is a folder with a trained model.

from t2t_keras.runs import Run

run = Run("runs/mine")
print(run.translate(["The dog sleeps."]))
"""

import importlib
import os

_HOMES = {
    "Run": "t2t_keras.runs.run",
    "RunEnsemble": "t2t_keras.runs.run_ensemble",
    "load_runs": "t2t_keras.runs.run_ensemble",
    "load_translator": "t2t_keras.runs.run_ensemble",
    "train": "t2t_keras.runs.training.train",
}
__all__ = sorted(_HOMES)


def __getattr__(name):
    # Imported lazily, because each needs TensorFlow and Keras. TensorFlow would print notes.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    return getattr(importlib.import_module(_HOMES[name]), name)
