"""Fine-tuning starts from the weights of another run. This is the default config with --init.

    t2t-prepare --vocabulary=runs/general/vocabulary --source=mine.en --target=mine.de \\
        --output=data/mine
    t2t-train --init=runs/general --data=data/mine --run=runs/mine

The model is the model of --init; this config sets only its dropout. The learning rate is a
hundredth to a tenth of the rate for random weights, because the weights are already trained. For
measured results, see "Fine-tuning" in t2t_keras/training/RESULTS.md.
"""

from pipelines.batches.batch_plan import BatchConfig
from pipelines.data_config import DataConfig
from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig


def get_config():
    return Experiment(
        training=TrainingConfig(
            steps=2000,
            schedule="constant",
            learning_rate=1e-4,
            warmup_steps=100,
            evaluate_every=250,
            checkpoint_every=250,
        ),
        data=DataConfig(batches=BatchConfig(tokens=4096)),
    )
