"""R-Drop's loss equals that of its paper, written out in NumPy; its gradient is the formula's."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from t2t_keras import LabelSmoothedCrossEntropy
from t2t_keras.training.step.r_drop import r_drop_sums, symmetric_divergence


def probabilities(logits):
    exps = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def kl(p, q):
    return (p * np.log(p / q)).sum(axis=-1)


@pytest.fixture
def two_logits():
    return 3 * np.random.default_rng(0).normal(size=(2, 4, 5, 11))


def test_the_divergence_is_the_mean_of_both_directions(two_logits):
    p, q = map(probabilities, two_logits)
    expected = (kl(p, q) + kl(q, p)) / 2
    first, second = two_logits.astype("float32")
    np.testing.assert_allclose(symmetric_divergence(first, second), expected, rtol=1e-4)
    np.testing.assert_array_equal(symmetric_divergence(first, first), 0)


def test_its_gradient_is_that_of_the_formula(two_logits):
    first, second = (tf.constant(logits, "float32") for logits in two_logits)
    weights = tf.constant(np.random.default_rng(1).normal(size=(4, 5)), "float32")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([first, second])
        ours = tf.reduce_sum(weights * symmetric_divergence(first, second))
        log_p, log_q = tf.nn.log_softmax(first), tf.nn.log_softmax(second)
        each = tf.reduce_sum((tf.exp(log_p) - tf.exp(log_q)) * (log_p - log_q), axis=-1) / 2
        theirs = tf.reduce_sum(weights * each)
    for a, b in zip(
        tape.gradient(ours, [first, second]), tape.gradient(theirs, [first, second]), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-5)


class TwoPasses(keras.Model):
    """Predicts one table of logits for the first half of its rows, another for the second."""

    def __init__(self, tables):
        super().__init__()
        self.tables = tables
        self.loss = LabelSmoothedCrossEntropy(0.1)

    def call(self, inputs, training=None):
        rows = len(inputs["source"])
        np.testing.assert_array_equal(inputs["source"][: rows // 2], inputs["source"][rows // 2 :])
        return keras.ops.concatenate(list(self.tables))


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_the_loss_is_half_of_the_papers(two_logits, alpha):
    labels = np.array([[3, 4, 0, 0, 0], [5, 6, 7, 0, 0], [8, 9, 10, 3, 4], [5, 2, 0, 0, 0]])
    inputs = {"source": labels, "target": labels}
    model = TwoPasses(two_logits.astype("float32"))
    sums, logits = r_drop_sums(model, inputs, labels, None, alpha, count_right=True)

    p, q = map(probabilities, two_logits)
    target = np.full((4, 5, 11), 0.1 / 10)
    np.put_along_axis(target, labels[..., None], 0.9, axis=-1)
    paper = -(target * (np.log(p) + np.log(q))).sum(axis=-1) + alpha * (kl(p, q) + kl(q, p)) / 2
    real = labels > 0
    np.testing.assert_allclose(sums.loss, (paper * real).sum() / 2, rtol=1e-4)
    right = (p.argmax(axis=-1) == labels) * 0.5 + (q.argmax(axis=-1) == labels) * 0.5
    np.testing.assert_allclose(sums.right, (right * real).sum())
    assert float(sums.tokens) == real.sum()
    np.testing.assert_array_equal(logits, two_logits[0].astype("float32"))
