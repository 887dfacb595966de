"""Data and training in which the rows of Table 3 learn the toy grammar in some three minutes each.

    t2t-reproduce table3

takes them where no text is given, with an eighth of the paper's widths and half of its layers. Deep
and narrow, a model needs a smaller learning rate than the quick start's, and smaller batches let
it make more steps in the same time.
"""

from t2t_keras.checks import check
from t2t_keras.experiment import load_experiment


def get_config(variant=""):
    check(not variant, "variant", variant, "empty: this config has none")
    experiment = load_experiment("quickstart")
    experiment.training.steps = 3000
    experiment.training.warmup_steps = 200
    experiment.training.learning_rate = 0.4
    experiment.data.batches.tokens = 1024
    return experiment
