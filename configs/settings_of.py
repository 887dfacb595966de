"""The settings of an existing run, from its config.json.

    t2t-train --run=runs/mine                                   resumes it with its own settings
    t2t-train --config=settings_of:runs/mine --run=runs/second --config.training.seed=2

t2t-train resumes a run with this config unless a different one is given.
"""

from pathlib import Path

from t2t_keras.checks import check
from t2t_keras.runs.settings_file import read_settings


def get_config(variant=""):
    check(variant, "variant", variant, "the folder of a run, as in settings_of:runs/mine")
    return read_settings(Path(variant) / "config.json")
