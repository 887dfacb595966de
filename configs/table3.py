"""The rows of the paper's Table 3: variations on the base model.

    t2t-parameters                            # all rows next to the paper's counts
    t2t-parameters --config=table3:B_dk16     # one row in detail

The name of a row is its letter in the table, followed by its difference from base. The paper has
all rows except `big_100K`, which is `big` with the training steps of base.
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import Experiment
from t2t_keras.transformer_config import TransformerConfig

BIG = {"d_model": 1024, "d_ff": 4096, "num_heads": 16, "dropout": 0.3}
MODELS = {
    "base": {},
    "A_h1": {"num_heads": 1, "d_k": 512, "d_v": 512},
    "A_h4": {"num_heads": 4, "d_k": 128, "d_v": 128},
    "A_h16": {"num_heads": 16, "d_k": 32, "d_v": 32},
    "A_h32": {"num_heads": 32, "d_k": 16, "d_v": 16},
    "B_dk16": {"d_k": 16},
    "B_dk32": {"d_k": 32},
    "C_N2": {"num_layers": 2},
    "C_N4": {"num_layers": 4},
    "C_N8": {"num_layers": 8},
    "C_dmodel256": {"d_model": 256, "d_k": 32, "d_v": 32},
    "C_dmodel1024": {"d_model": 1024, "d_k": 128, "d_v": 128},
    "C_dff1024": {"d_ff": 1024},
    "C_dff4096": {"d_ff": 4096},
    "D_dropout0.0": {"dropout": 0.0},
    "D_dropout0.2": {"dropout": 0.2},
    "D_smoothing0.0": {},
    "D_smoothing0.2": {},
    "E_learned": {"positions": "learned"},
    "big": BIG,
    "big_100K": BIG,
}

STEPS = {"big": 300_000}  # other rows: 100,000
LABEL_SMOOTHING = {"D_smoothing0.0": 0.0, "D_smoothing0.2": 0.2}  # other rows: 0.1

# {row: columns "params ×10⁶" (None: empty), "PPL (dev)" and "BLEU (dev)"}. The development set is
# newstest2013; BLEU is computed by paper_bleu.py.
PRINTED = {
    "base": (65, 4.92, 25.8),
    "A_h1": (None, 5.29, 24.9),
    "A_h4": (None, 5.00, 25.5),
    "A_h16": (None, 4.91, 25.8),
    "A_h32": (None, 5.01, 25.4),
    "B_dk16": (58, 5.16, 25.1),
    "B_dk32": (60, 5.01, 25.4),
    "C_N2": (36, 6.11, 23.7),
    "C_N4": (50, 5.19, 25.3),
    "C_N8": (80, 4.88, 25.5),
    "C_dmodel256": (28, 5.75, 24.5),
    "C_dmodel1024": (168, 4.66, 26.0),
    "C_dff1024": (53, 5.12, 25.4),
    "C_dff4096": (90, 4.75, 26.2),
    "D_dropout0.0": (None, 5.77, 24.6),
    "D_dropout0.2": (None, 4.95, 25.5),
    "D_smoothing0.0": (None, 4.67, 25.3),
    "D_smoothing0.2": (None, 5.47, 25.7),
    "E_learned": (None, 4.92, 25.7),
    "big": (213, 4.33, 26.4),
}
PRINTED_MILLIONS = {row: printed[0] for row, printed in PRINTED.items() if printed[0]}
PRINTED_PERPLEXITY = {row: printed[1] for row, printed in PRINTED.items()}
PRINTED_BLEU = {row: printed[2] for row, printed in PRINTED.items()}


def get_config(variant="base"):
    check_choice("variant", variant, MODELS)
    experiment = Experiment(model=TransformerConfig(**MODELS[variant]))
    experiment.training.steps = STEPS.get(variant, 100_000)
    experiment.training.label_smoothing = LABEL_SMOOTHING.get(variant, 0.1)
    return experiment
