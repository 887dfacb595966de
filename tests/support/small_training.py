"""A trainer of a model that takes seconds, for the tests of what a trainer does."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines.batch_plan import BatchConfig, BatchPlan
from pipelines.dataset import TrainingData
from pipelines.id_store import IdStore, Shard
from t2t_keras.experiment import Experiment
from t2t_keras.training.trainer import Trainer
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig


def data(count=160, seed=0):
    numbers = np.random.default_rng(seed)

    def sentence():
        return numbers.integers(4, 20, numbers.integers(1, 9))

    store = IdStore([Shard.of([(sentence(), sentence()) for _ in range(count)])])
    plan = BatchPlan(store.lengths + 1, BatchConfig(tokens=160, buckets=3, max_length=10), seed=1)
    return TrainingData(store, plan)


class HeldOut:
    """Loss on the training's own batches, and a score that is made up."""

    def distributed(self, strategy):
        plan = BatchPlan(data().store.lengths + 1, BatchConfig(tokens=400, max_length=10))
        return TrainingData(data().store, plan).distributed(strategy)

    def translate(self):
        return {"bleu": 12.5, "bleu_signature": "made up", "examples": ["  source     x"]}


def trainer(folder, strategy=None, held_out=None, callbacks=(), dropout=0.2, **settings):
    settings = {"steps": 20, "checkpoint_every": 4, "evaluate_every": 10, "log_every": 5} | settings
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=20, num_layers=1, d_model=16, d_ff=16, num_heads=2, dropout=dropout
        ),
        training=TrainingConfig(warmup_steps=10, **settings),
    )
    keras.utils.set_random_seed(1)
    strategy = strategy or tf.distribute.get_strategy()
    with strategy.scope():
        model = experiment.compiled_model(metrics=[], by_products=True)
        model.optimizer.build(model.trainable_variables)
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Trainer(
            model, data(), experiment.training, folder, held_out, strategy, callbacks, rate=2e9
        )


def weights(made):
    return [v.numpy() for v in made.model.variables] + [
        v.numpy() for v in made.model.optimizer.variables
    ]


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
