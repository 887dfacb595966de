"""A small model for Multi30k En–De: 29,000 captions, 8,000 byte pairs, about 50 epochs.

    t2t-prepare --config=multi30k --source=train.en --target=train.de --output=data/multi30k
    t2t-train --config=multi30k --data=data/multi30k --run=runs/multi30k \\
        --dev_source=val.en --dev_target=val.de

Measured: sacreBLEU 39.8 on test_2016_flickr, with the last 5 checkpoints averaged and beam 4,
after 70 minutes on two CPU cores (see "Multi30k" in configs/RESULTS.md). `multi30k:shallow` has
half the layers, for training in less than an hour: the deeper model begins to learn later.
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

VARIANTS = {"": 4, "shallow": 2}  # {variant: number of layers of encoder and decoder}


def get_config(variant=""):
    check_choice("variant", variant, VARIANTS)
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=8000,
            num_layers=VARIANTS[variant],
            d_model=128,
            d_ff=512,
            num_heads=4,
            dropout=0.3,
        ),
        # With 12,500 tokens per batch, 50 epochs are 2,400 steps. Smaller batches learn faster.
        training=TrainingConfig(
            steps=7000,
            warmup_steps=2000,
            learning_rate=1.5,
            evaluate_every=500,
            checkpoint_every=250,
        ),
    )
    experiment.data.vocabulary.size = 8000
    experiment.data.batches.tokens = 4096
    experiment.data.batches.max_length = 100
    return experiment
