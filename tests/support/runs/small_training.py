"""A trainer that finishes in seconds, for tests of training."""

import functools
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from pipelines.batches.batch_plan import BatchConfig, BatchPlan
from pipelines.batches.dataset import TrainingData
from pipelines.batches.id_store import IdStore, Shard
from t2t_keras.evaluation.held_out import Example, TranslationResults
from t2t_keras.experiment import Experiment
from t2t_keras.training.checkpoints import restore, state_of
from t2t_keras.training.trainer import Trainer
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

TRACED = {}  # the steps of all models as graphs


@functools.cache
def training_data():
    random = np.random.default_rng(0)

    def sentence():
        return random.integers(4, 20, random.integers(1, 9))

    store = IdStore([Shard.of([(sentence(), sentence()) for _ in range(160)])])
    plan = BatchPlan(store.lengths + 1, BatchConfig(tokens=160, buckets=3, max_length=10), seed=1)
    return TrainingData(store, plan)


@functools.cache
def held_out_batches(strategy):
    store = training_data().store
    plan = BatchPlan(store.lengths + 1, BatchConfig(tokens=400, max_length=10))
    return TrainingData(store, plan).distributed(strategy)


class HeldOut:
    """The training data as held-out data, with an invented BLEU."""

    def __init__(self, name="", bleu=12.5, digest="0"):
        self.name, self.bleu, self.digest = name, bleu, digest

    def distributed(self, strategy):
        return held_out_batches(strategy)

    def translate(self, on_progress):
        metrics = {"bleu": self.bleu, "bleu_signature": "invented"}
        return TranslationResults(metrics, [Example("a source", "a reference", "an output")])


@functools.cache
def compiled_model(strategy, dropout):
    """Returns a model and its initial state.

    Trainers share the model, because tracing its forward and backward pass takes seconds.
    """
    keras.utils.set_random_seed(1)
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=20, num_layers=1, d_model=16, d_ff=16, num_heads=2, dropout=dropout
        ),
        training=TrainingConfig(warmup_steps=10, learning_rate=0.1),
    )
    with strategy.scope():
        model = experiment.compiled_model()
        model.optimizer.build(model.trainable_variables)
    return model, state_of(model)


def new_trainer(
    folder, strategy=None, held_out=(), callbacks=(), dropout=0.2, data=None, **settings
):
    """Returns a trainer whose model is in its initial state.

    It invalidates earlier trainers with the same options, which share the model and its traced
    steps.
    """
    settings = {"steps": 20, "checkpoint_every": 4, "evaluate_every": 10, "log_every": 5} | settings
    strategy = strategy or tf.distribute.get_strategy()
    model, initial_state = compiled_model(strategy, dropout)
    restore(model, initial_state)
    Path(folder).mkdir(parents=True, exist_ok=True)
    trainer = Trainer(
        model,
        training_data() if data is None else data,
        TrainingConfig(**settings),
        folder,
        held_out,
        strategy,
        callbacks,
        rate=2e9,
    )
    trace = trainer.machines.on_every_replica
    trainer.machines.on_every_replica = lambda step, spec: (
        TRACED.get(step) or TRACED.setdefault(step, trace(step, spec))
    )
    return trainer


def final_state(folder, *arguments, **settings):
    """Trains to the last step and returns the state of model and optimizer, arrays by name."""
    trainer = new_trainer(folder, *arguments, **settings)
    assert trainer.train() is None
    return state_of(trainer.model)


def assert_same_bits(state, expected):
    assert state.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(state[name], array, err_msg=name)
