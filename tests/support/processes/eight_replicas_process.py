"""Trains on one replica, on eight with XLA, and on two without NCCL: `eight_replicas_process FILE`.

FILE gets, as JSON, the largest difference of the weights and of the losses from those of one.
"""

import json
import sys
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from support.models.helpers import ids

from t2t_keras import LabelSmoothedCrossEntropy, Transformer, TransformerConfig
from t2t_keras.training.hardware.machines import mirrored_strategy

CPUS = [f"CPU:{index}" for index in range(8)]


def trained(strategy, xla=True):
    """Returns the weights after two steps, and the losses. The rows differ in their tokens."""
    source, labels = (ids(16, 6, [1 + row % 6 for row in range(16)], seed=s) for s in (1, 2))
    batch = {"source": source, "target": np.insert(labels[:, :-1], 0, 1, axis=1)}, labels
    keras.utils.set_random_seed(1)
    with strategy.scope():
        settings = {"num_layers": 1, "d_model": 8, "d_ff": 8, "num_heads": 2, "dropout": 0.0}
        model = Transformer(TransformerConfig(vocab_size=50, **settings))
        loss = LabelSmoothedCrossEntropy(0.1)
        model.compile(keras.optimizers.SGD(1.0), loss, jit_compile=xla, clip_norm=0.05)
        model.optimizer.build(model.trainable_variables)
    data = tf.data.Dataset.from_tensors(batch).repeat(2)
    history = model.fit(data, steps_per_epoch=2, verbose=0).history
    return [weight.numpy() for weight in model.trainable_variables], history["loss"][0]


if __name__ == "__main__":
    logical = [tf.config.LogicalDeviceConfiguration()] * 8
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, logical)
    weights, loss = trained(tf.distribute.get_strategy())
    results = {}
    for communication, cpus in {"auto": CPUS, "ring": CPUS[:2]}.items():
        others, other_loss = trained(mirrored_strategy(communication, cpus), len(cpus) == 8)
        pairs = zip(weights, others, strict=True)
        difference = max(float(np.abs(a - b).max()) for a, b in pairs)
        results[communication] = difference, abs(loss - other_loss)
    Path(sys.argv[1]).write_text(json.dumps(results), encoding="utf-8")
