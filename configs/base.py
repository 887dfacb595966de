"""The paper's base model (Table 3, row "base"): 63 million parameters with 37,000 pieces.

    t2t-parameters --config=base

Every other config is derived from it, directly or indirectly, and sets only the differences.
"""

from t2t_keras.experiment import Experiment


def get_config():
    return Experiment()
