"""Settings that train each row of Table 3 on the toy grammar in about three minutes.

    t2t-reproduce table3

Without a text, this command uses this config, an eighth of the paper's widths and half its layers.
Such deep, narrow models need a smaller learning rate than the quick start. Smaller batches allow
more steps in the same time.
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
