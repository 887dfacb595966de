"""The paper's English–German recipes: one vocabulary of 37,000 byte pairs (§5).

    t2t-prepare --config=wmt14_ende --tfds=wmt14_translate/de-en --languages=en,de \\
        --output=data/ende
    t2t-train --config=wmt14_ende:base --data=data/ende --run=runs/ende_base
    t2t-train --config=wmt14_ende:big --data=data/ende --run=runs/ende_big
    t2t-average runs/ende_base --last=5       # the big model: --last=20

The paper reports 27.3 BLEU after 12 hours (base) and 28.4 BLEU after 3.5 days (big) on 8 P100 GPUs,
on tokenized text with compounds split. Not measured here.
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import Experiment, load_experiment
from t2t_keras.training.training_config import TrainingConfig

VARIANTS = ("base", "big")


def get_config(variant="base"):
    check_choice("variant", variant, VARIANTS)
    if variant == "base":
        return Experiment(training=TrainingConfig(steps=100_000, keep=5))
    experiment = load_experiment("big:ende")
    experiment.training = TrainingConfig(steps=300_000, keep=20)
    return experiment
