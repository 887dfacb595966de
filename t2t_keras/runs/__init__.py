"""Runs: folders with a trained model, and everything that Python code can do with them.

from t2t_keras.runs import Run

run = Run("runs/mine")
print(run.translate(["The dog sleeps."]))
"""

from t2t_keras.runs.run import Run
from t2t_keras.runs.run_ensemble import RunEnsemble, load_runs
from t2t_keras.runs.training import train

__all__ = ["Run", "RunEnsemble", "load_runs", "train"]
