"""A small model for Multi30k En–De: 29,000 captions, 8,000 byte pairs, about 50 epochs.

    t2t-prepare --config=multi30k --source=train.en --target=train.de --output=data/multi30k
    t2t-train --config=multi30k --data=data/multi30k --run=runs/multi30k \\
        --dev_source=val.en --dev_target=val.de

Measured on test_2016_flickr: sacreBLEU 39.0 ± 0.5 over three seeds with pre-norm layers (see
"Multi30k" in configs/RESULTS.md). Variants:

- `multi30k:shallow` has half the layers, for training in less than an hour: the deeper model
  begins to learn later.
- `multi30k:pre_norm` has pre-norm layers, a linear schedule and mixed_bfloat16. It learns
  faster: 5,000 steps take about an hour on one core that computes in bfloat16.
- `multi30k:fast` is for the shortest time to BLEU 35 on val (cli/RESULTS.md): as
  `pre_norm`, with less dropout and half the steps.
"""

from t2t_keras.checks import check_choice
from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

VARIANTS = ("", "shallow", "pre_norm", "fast")


def get_config(variant=""):
    check_choice("variant", variant, VARIANTS)
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=8000, num_layers=4, d_model=128, d_ff=512, num_heads=4, dropout=0.3
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
    training = experiment.training
    if variant == "shallow":
        experiment.model.num_layers = 2
    if variant in ("pre_norm", "fast"):  # pre-norm layers allow a higher learning rate
        experiment.model.pre_norm = True
        training.schedule, training.learning_rate, training.clip_norm = "linear", 3e-3, 1.0
        training.steps, training.warmup_steps = 5000, 800
        training.precision = "mixed_bfloat16"
    if variant == "fast":  # in fewer than 20 epochs, strong dropout only slows down
        experiment.model.dropout = 0.1
        training.steps, training.warmup_steps, training.evaluate_every = 2400, 400, 200
        training.checkpoint_every = 600
    return experiment
