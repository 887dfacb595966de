"""The quick start: a small model that learns the toy grammar in minutes on two CPU cores.

    t2t-train

Measured on two AMD EPYC cores (2026-11-21): 2 min 56 s with the export. BLEU 98.6 on 300 sentences
with unseen combinations of verb and noun, with the last 5 checkpoints averaged and beam 4.
"""

from pipelines.batches.batch_plan import BatchConfig
from pipelines.data_config import DataConfig
from pipelines.tokenizers.vocabulary import VocabularyConfig
from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig


def get_config():
    return Experiment(
        model=TransformerConfig(num_layers=2, d_model=128, d_ff=512, num_heads=4, dropout=0.1),
        training=TrainingConfig(
            steps=1700,
            warmup_steps=300,
            learning_rate=0.7,
            log_every=50,
            evaluate_every=500,
            checkpoint_every=50,
        ),
        data=DataConfig(
            toy_pairs=60_000,
            vocabulary=VocabularyConfig(size=800),
            batches=BatchConfig(tokens=2048, buckets=4, max_length=64),
        ),
    )
