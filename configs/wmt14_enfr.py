"""The paper's English–French recipes: 32,000 word pieces (§5), dropout 0.1 in both models.

    t2t-prepare --config=wmt14_enfr --tfds=wmt14_translate/fr-en --languages=en,fr \\
        --output=data/enfr
    t2t-train --config=wmt14_enfr:big --data=data/enfr --run=runs/enfr_big
    t2t-average runs/enfr_big --last=20

The paper reports 38.1 BLEU (base) and 41.8 BLEU (big). Not measured here.
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import load_experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

VARIANTS = ("base", "big")


def get_config(variant="base"):
    check_choice("variant", variant, VARIANTS)
    experiment = load_experiment("big:enfr")
    experiment.training = TrainingConfig(steps=300_000, keep=20)
    if variant == "base":
        experiment.model = TransformerConfig(vocab_size=32000)
        experiment.training = TrainingConfig(steps=100_000, keep=5)
    return experiment
