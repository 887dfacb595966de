"""Settings with which each row of Table 3 learns the toy grammar in about three minutes.

    t2t-reproduce table3

uses this config when it is given no text, with an eighth of the paper's widths and half its layers.
Such deep and narrow models need a smaller learning rate than the quick start's. Smaller batches
allow more steps in the same time.
"""

from t2t_keras.checks import check
from t2t_keras.experiment import load_experiment


def get_config(variant=""):
    check(not variant, "variant", variant, "empty: this config has no variants")
    experiment = load_experiment("quickstart")
    experiment.training.steps = 3000
    experiment.training.warmup_steps = 200
    experiment.training.learning_rate = 0.4
    experiment.data.batches.tokens = 1024
    return experiment
