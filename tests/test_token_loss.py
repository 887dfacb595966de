"""A loss of Keras, or a function, as a mean over real tokens."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import ids, vectors

from t2t_keras.losses import (
    LOSSES,
    LabelSmoothedCrossEntropy,
    NoTokenLoss,
    TokenLoss,
    TokenMean,
    named_loss,
    token_loss,
)

LABELS, LOGITS = ids(3, 5, [5, 3, 1]), 3 * vectors(3, 5, 50)
WEIGHTS = np.array([0.5, 2.0, 0.0], "float32")


class Focal(keras.losses.Loss):
    def call(self, labels, logits):
        losses = keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
        return losses * (1 - ops.exp(-losses))


def sparse(**options):
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, **options)


def function(labels, logits):
    return ops.logsumexp(logits, -1) - ops.take_along_axis(logits, labels[..., None], -1)[..., 0]


def by_loop(focal=False, weights=(1, 1, 1), by_weight=False):
    """Returns the loss, one token after another, in float64."""
    total = count = 0.0
    for labels, logits, weight in zip(LABELS, LOGITS.astype("float64"), weights, strict=True):
        for label, z in zip(labels, logits, strict=True):
            if label:
                nll = np.log(np.exp(z).sum()) - z[label]
                total += weight * nll * (1 - np.exp(-nll) if focal else 1)
                count += weight if by_weight else 1.0
    return total / count


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        pytest.param(
            sparse(reduction="mean_with_sample_weight"),
            {"by_weight": True, "weights": WEIGHTS},
            marks=pytest.mark.jax,
        ),
        (function, {"weights": WEIGHTS}),
        pytest.param(Focal(), {"focal": True}, marks=pytest.mark.jax),
    ],
    ids=["by weight", "function", "own class"],
)
def test_the_loss_is_the_mean_over_real_tokens(loss, expected):
    made = token_loss(loss, 50)
    value = float(made(ops.array(LABELS), ops.array(LOGITS), expected.get("weights")))
    assert value == pytest.approx(by_loop(**expected), rel=1e-5)
    unsmoothed = made.sums(ops.array(LOGITS), ops.array(LABELS)).unsmoothed
    usual = LabelSmoothedCrossEntropy(0.0).sums(ops.array(LOGITS), ops.array(LABELS))
    assert float(unsmoothed) == pytest.approx(float(usual.loss), rel=1e-6)


def test_a_token_loss_stays_itself_and_keras_names_are_understood():
    loss = LabelSmoothedCrossEntropy()
    assert token_loss(loss, 50) is loss
    config = keras.losses.serialize(token_loss(sparse(ignore_class=0), 50))
    loaded = keras.losses.deserialize(config)
    assert (type(loaded), loaded.loss.ignore_class, loaded.loss.from_logits) == (TokenMean, 0, True)


@pytest.mark.jax
def test_a_loss_of_keras_and_a_function_take_their_columns():
    def weighted(labels, logits, factor=None):
        return function(labels, logits) * (1.0 if factor is None else factor[:, None])

    class Weighted(keras.losses.Loss):
        columns = ("factor",)

        def call(self, labels, logits, factor):
            return weighted(labels, logits, factor)

    weighted.columns = ("factor",)
    factors = {"factor": ops.array(WEIGHTS)}
    for loss in (weighted, Weighted()):
        made = token_loss(loss, 50)
        sums = made.sums(ops.array(LOGITS), ops.array(LABELS), inputs=factors)
        assert float(sums.loss / sums.count) == pytest.approx(by_loop(weights=WEIGHTS), rel=1e-5)
        alone = made.sums(ops.array(LOGITS), ops.array(LABELS))
        assert float(alone.loss / alone.count) == pytest.approx(by_loop(), rel=1e-5)


class OfSentences(TokenLoss):
    def __call__(self, y_true, y_pred, sample_weight=None):
        return ops.mean(y_pred)


@pytest.mark.parametrize(
    ("loss", "reason"),
    [
        (OfSentences(), "it overrides `__call__`"),
        (sparse(reduction="sum"), "its reduction is 'sum'"),
        (sparse(reduction=None), "its reduction is None"),
        ("mse", "it must take ids.*failed: "),
        (lambda labels, logits: ops.mean(logits), "one loss for each position"),
    ],
    ids=["__call__", "sum", "none", "one-hot", "scalar"],
)
def test_other_losses_are_left_to_keras(loss, reason):
    with pytest.raises(NoTokenLoss, match=reason):
        token_loss(loss, 50)


@pytest.mark.parametrize(
    "loss", [keras.losses.SparseCategoricalCrossentropy(), "sparse_categorical_crossentropy"]
)
def test_a_loss_of_probabilities_is_refused(loss):
    with pytest.raises(ValueError, match=r"`loss` must be a loss of logits, .*from_logits=False"):
        token_loss(loss, 50)


def test_a_class_other_than_padding_cannot_be_ignored():
    with pytest.raises(ValueError, match="`ignore_class` must be 0, padding"):
        token_loss(sparse(ignore_class=3), 50)


def test_losses_by_name(monkeypatch):
    monkeypatch.setitem(LOSSES, "focal", lambda gamma=2.0: Focal(name=f"gamma {gamma:g}"))
    assert named_loss("label_smoothed_cross_entropy", "", 0.2).label_smoothing == 0.2
    assert named_loss("focal", "gamma=1", 0.1).name == "gamma 1"
    assert named_loss("focal", "", 0).name == "gamma 2"
    monkeypatch.setitem(LOSSES, "wrong", lambda: 5)
    monkeypatch.setitem(LOSSES, "probabilities", keras.losses.SparseCategoricalCrossentropy)
    for arguments, message in (
        (("focl",), r"`loss` must be one of .*did you mean 'focal'"),
        (("focal", "gama=1"), r"`loss_options` has no option 'gama' \(did you mean 'gamma'"),
        (("focal", "", 0.2), r"`label_smoothing` must be 0 .*'focal'"),
        (("label_smoothed_cross_entropy", "label_smoothing=0.3"), "no option 'label_smoothing'"),
        (("wrong",), r"`LOSSES\['wrong'\]` must be a function or class that returns a loss"),
        (("probabilities",), "`loss` must be a loss of logits"),
    ):
        with pytest.raises(ValueError, match=message):
            named_loss(*arguments)
