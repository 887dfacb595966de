"""A loss of one's own and losses of Keras in the training step."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops
from support.models.eager_steps import without_graphs

from t2t_keras import Transformer
from t2t_keras.transformer_config import TransformerConfig

RATE = 0.1


class Focal(keras.losses.Loss):
    def call(self, labels, logits):
        losses = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        return losses * (1 - ops.exp(-losses))


sparse = functools.partial(keras.losses.SparseCategoricalCrossentropy, from_logits=True)


def batch(rows=8):
    """Returns rows of unequal length, so that halves and quarters differ in their tokens."""
    source, labels = np.random.default_rng(0).integers(3, 50, (2, rows, 6)).astype("int32")
    for row in range(rows):
        labels[row, 1 + row // 2 :] = 0
    return {"source": source, "target": np.insert(labels[:, :-1], 0, 1, axis=1)}, labels


@pytest.fixture(autouse=True)
def eager_steps():
    with without_graphs():
        yield


def new_model(loss, **options):
    keras.utils.set_random_seed(1)
    model = Transformer(
        TransformerConfig(50, num_layers=1, d_model=16, d_ff=16, num_heads=2, dropout=0.0)
    )
    model.compile(keras.optimizers.SGD(RATE), loss, **options)
    return model


def weights_after_a_step(loss, **options):
    model = new_model(loss, run_eagerly=True, **options)
    model.train_step(batch())
    return [weight.numpy() for weight in model.trainable_variables]


@pytest.mark.parametrize("loss", [Focal(), sparse(ignore_class=0)], ids=["own", "ignore_class"])
def test_the_update_is_that_of_the_mean_over_all_tokens(loss):
    """A plain loop over the tokens is the reference, for the whole batch and for its parts."""
    model, (inputs, labels) = new_model(loss, run_eagerly=True), batch()
    counted = labels != 0
    with tf.GradientTape() as tape:
        losses = loss.call(labels, model(inputs, training=True))
        value = tf.reduce_sum(tf.boolean_mask(losses, counted)) / counted.sum()
    weights = model.trainable_variables
    gradients = tape.gradient(value, [weight.value for weight in weights])
    expected = [
        w.numpy() - RATE * tf.convert_to_tensor(g) for w, g in zip(weights, gradients, strict=True)
    ]
    for options in ({}, {"accumulate": 3, "clip_norm": 1e6}):
        for ours, theirs in zip(weights_after_a_step(loss, **options), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.long
def test_one_hot_labels_and_sums_are_trained_by_keras_own_step():
    inputs, labels = batch()
    for loss, y in (
        (keras.losses.CategoricalFocalCrossentropy(from_logits=True), np.eye(50)[labels]),
        (sparse(reduction="sum"), labels),
    ):
        expected = float(loss(y, new_model(loss)(inputs)))
        model = new_model(loss, run_eagerly=True)
        assert model.loss is loss
        results = model.train_step((inputs, y))
        assert list(results) == ["loss"]
        assert float(results["loss"]) == pytest.approx(expected, rel=1e-5)
