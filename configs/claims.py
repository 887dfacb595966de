"""Settings that train a variant of the model on the toy grammar in a few minutes.

    t2t-reproduce claims

This command uses this config for the experiments about the paper's claims.
"""

from t2t_keras.experiment import load_experiment


def get_config():
    experiment = load_experiment("quickstart")
    experiment.model.num_heads, experiment.model.d_ff = 8, 256
    experiment.training.steps = 1000
    experiment.training.warmup_steps = 200
    experiment.training.learning_rate = 0.6
    experiment.training.evaluate_every = 100
    experiment.training.checkpoint_every = 500
    experiment.data.toy_pairs = 40_000
    experiment.data.batches.tokens = 1024
    experiment.search.beam = 1
    return experiment
