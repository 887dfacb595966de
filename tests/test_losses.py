import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, gradients, ids, vectors

from t2t_keras import LabelSmoothedCrossEntropy
from t2t_keras.cross_entropy import token_losses


def expected_losses(labels, logits, smoothing):
    """Computes Σ −p log q in float64, with the target distribution written out."""
    logits = logits.astype("float64")
    log_q = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    p = np.full(logits.shape, smoothing / (logits.shape[-1] - 1))
    np.put_along_axis(p, labels[..., None], 1 - smoothing, axis=-1)
    return -(p * log_q).sum(-1)


@pytest.mark.jax
def test_the_loss_equals_the_formula():
    labels, logits = ids(3, 5, [5, 3, 0]), 5 * vectors(3, 5, 50)
    real = labels != 0
    for smoothing in (0.0, 0.1, 0.9):
        expected = expected_losses(labels, logits, smoothing)
        losses = token_losses(ops.array(labels), ops.array(logits), smoothing)[0]
        np.testing.assert_allclose(array(losses), expected, rtol=1e-5)
        loss = LabelSmoothedCrossEntropy(smoothing)
        total, count, *_ = loss.sums(ops.array(logits), ops.array(labels))
        assert float(count) == real.sum() == 8
        assert float(total) == pytest.approx(expected[real].sum(), rel=1e-5)
        assert float(loss(labels, logits)) == pytest.approx(expected[real].mean(), rel=1e-5)


@pytest.mark.jax
def test_the_gradient_is_the_models_distribution_minus_the_target():
    variable = keras.Variable(vectors(1, 2, 6))
    layer = keras.layers.Layer()
    layer.logits = variable
    labels = np.array([[4, 0]], "int32")
    loss = LabelSmoothedCrossEntropy(0.1)
    (gradient,) = gradients(layer, lambda: loss(ops.array(labels), ops.convert_to_tensor(variable)))
    logits = array(variable)[0, 0].astype("float64")
    expected = np.exp(logits) / np.exp(logits).sum() - 0.02
    expected[4] += 0.02 - 0.9
    np.testing.assert_allclose(gradient[0, 0], expected, atol=1e-6)
    np.testing.assert_array_equal(gradient[0, 1], 0)


def test_large_logits_do_not_overflow():
    logits = np.array([[[1e4, -1e4, 0, 0]]], "float32")
    assert float(LabelSmoothedCrossEntropy(0.0)(np.array([[1]]), logits)) == pytest.approx(2e4)


def test_sample_weights_may_be_per_sentence_or_per_token():
    labels, logits = ids(2, 4, [4, 2]), vectors(2, 4, 50)
    losses = expected_losses(labels, logits, 0.1)
    loss = LabelSmoothedCrossEntropy(0.1)
    expected = losses[0].mean()
    assert float(loss(labels, logits, np.array([1.0, 0.0]))) == pytest.approx(expected, rel=1e-5)
    weights = np.array([[1, 0, 0, 0], [0, 2, 5, 5]], "float32")  # the 5s are at padding
    expected = (losses[0, 0] + 2 * losses[1, 1]) / 3
    assert float(loss(labels, logits, weights)) == pytest.approx(expected, rel=1e-5)


def test_the_loss_of_a_batch_of_padding_is_zero():
    assert float(LabelSmoothedCrossEntropy()(np.zeros((2, 3), "int32"), vectors(2, 3, 50))) == 0


def test_serialization_and_wrong_settings():
    loss = keras.losses.deserialize(keras.losses.serialize(LabelSmoothedCrossEntropy(0.2)))
    assert loss.label_smoothing == 0.2
    with pytest.raises(ValueError, match=r"`label_smoothing` must be .* label_smoothing=1"):
        LabelSmoothedCrossEntropy(1)
    for wrong in ((2,), (2, 1), (1, 3), (2, 4)):
        with pytest.raises(ValueError, match=r"Received: labels of shape .*logits of shape"):
            LabelSmoothedCrossEntropy()(np.ones(wrong, "int32"), vectors(2, 3, 50))


def test_half_precision_logits_are_summed_in_float32():
    labels, logits = ids(2, 5), ops.cast(vectors(2, 5, 4000), "bfloat16")
    losses = array(token_losses(ops.array(labels), logits, 0.1)[0])
    np.testing.assert_allclose(losses, expected_losses(labels, array(logits), 0.1), rtol=1e-4)


def test_a_subclass_may_compute_the_loss_of_each_position():
    class Tenfold(LabelSmoothedCrossEntropy):
        def call(self, y_true, y_pred):
            return 10 * super().call(y_true, y_pred)

    class OfSentences(LabelSmoothedCrossEntropy):
        def call(self, y_true, y_pred):
            return ops.mean(super().call(y_true, y_pred), axis=-1)

    labels, logits = ids(4, 4, [4, 2, 1, 4]), vectors(4, 4, 50)
    usual, ours, weights = LabelSmoothedCrossEntropy(), Tenfold(), np.array([1, 0.5, 2, 1])
    for arguments in ((labels, logits), (labels, logits, weights)):
        assert float(ours(*arguments)) == pytest.approx(10 * float(usual(*arguments)), rel=1e-5)
        labels, logits, *weight = arguments
        total, *others = map(float, usual.sums(logits, labels, *weight))
        found = [float(x) for x in ours.sums(logits, labels, *weight)]
        assert found == pytest.approx([10 * total, *others], rel=1e-5)
    with pytest.raises(ValueError, match=r"one loss for each position.*losses of shape \(4,\)"):
        OfSentences()(labels, logits)
