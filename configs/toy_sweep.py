"""Settings that train each row of Table 3 on the toy grammar in about four minutes.

    t2t-reproduce table3 --seeds=3

This command uses this config if no training text is given. The models have an eighth of the paper's
widths and half of the paper's layers. With only 5,000 sentence pairs, each seen about 55 times,
dropout and label smoothing make a difference. The paper's schedule, with a warm-up of 4 % of the
steps and a factor of 1, would reach a learning rate of 0.011 at this width. Here the peak is
0.0016, after a third of the steps, because deep and wide post-norm models need that. Smaller
batches allow more steps in the same time.
"""

from t2t_keras.experiment import load_experiment


def get_config():
    experiment = load_experiment("quickstart")
    experiment.training.steps = 3000
    experiment.training.warmup_steps = 1000
    experiment.training.learning_rate = 0.4
    experiment.data.toy_pairs = 5000
    experiment.data.batches.tokens = 1024
    return experiment
