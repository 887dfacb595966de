"""Which loss is computed in chunks; everything that a user's class overrides is obeyed."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.eager_steps import without_graphs
from support.models.helpers import TINY, array, ids, pairs

from t2t_keras import (
    LabelSmoothedCrossEntropy,
    Perplexity,
    TokenAccuracy,
    Transformer,
    TransformerConfig,
    losses,
)
from t2t_keras.layers import SharedEmbedding

INPUTS, LABELS = pairs(), ids(3, 6, [6, 6, 3], seed=3)


class EachTenfold(LabelSmoothedCrossEntropy):
    def call(self, y_true, y_pred):
        return 10 * super().call(y_true, y_pred)


class CountTenth(LabelSmoothedCrossEntropy):
    """Divides by a tenth of the count, as an integer."""

    def weights_and_count(self, labels, sample_weight=None):
        weights, count = super().weights_and_count(labels, sample_weight)
        return 20 * weights, ops.cast(2 * count, "int32")


class ValueTenfold(LabelSmoothedCrossEntropy):
    def __call__(self, y_true, y_pred, sample_weight=None):
        return 10 * super().__call__(y_true, y_pred, sample_weight)


class ModelTenfold(Transformer):
    def compute_loss(self, *args, **kwargs):
        return 10 * super().compute_loss(*args, **kwargs)


class SharperModel(Transformer):
    def call(self, inputs, training=None):
        return 2.0 * super().call(inputs, training=training)


class CappedLogits(SharedEmbedding):
    def logits(self, x):
        return 3 * ops.tanh(super().logits(x) / 3)


class CappedModel(Transformer):
    def build_layers(self):
        super().build_layers()
        self.output_embedding = CappedLogits(50, 16, mask_zero=False, name="capped")
        self.output_embedding.build()


class RegularizedModel(Transformer):
    def build_layers(self):
        super().build_layers()
        self.embedding.matrix.regularizer = keras.regularizers.L2(1.0)


def new_model(model_class=Transformer, loss=None, rate=1e-2, **options):
    keras.utils.set_random_seed(0)
    model = model_class(TransformerConfig(**{**TINY, "num_layers": 1}, dropout=0.0))
    loss = loss or LabelSmoothedCrossEntropy()
    # Tracing and compiling a step take longer than the step.
    model.compile(keras.optimizers.SGD(rate), loss, run_eagerly=True, **options)
    return model


def step(*arguments, **options):
    """Returns the losses of an evaluation and a training step, and the weights after it."""
    model = new_model(*arguments, **options)
    evaluated = model.evaluate(INPUTS, LABELS, verbose=0, return_dict=True)["loss"]
    with without_graphs():
        trained = model.train_on_batch(INPUTS, LABELS, return_dict=True)["loss"]
    return float(evaluated), float(trained), [array(weight) for weight in model.weights]


@pytest.fixture(scope="module")
def usual():
    return step()


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"loss": EachTenfold()}, marks=pytest.mark.jax),
        pytest.param({"loss": CountTenth()}, marks=pytest.mark.jax),
        {"loss": ValueTenfold()},
        {"loss": [ValueTenfold()]},
        pytest.param({"model_class": ModelTenfold}, marks=pytest.mark.jax),
        {"loss_weights": 10.0},
    ],
    ids=["call", "weights_and_count", "__call__", "a list", "compute_loss", "loss_weights"],
)
def test_a_loss_of_ones_own_is_trained_and_evaluated(usual, options):
    """Ten times the loss, with a tenth of the learning rate."""
    *losses, weights = step(rate=1e-3, **options)
    np.testing.assert_allclose(losses, [10 * loss for loss in usual[:2]], rtol=1e-5)
    for ours, theirs in zip(weights, usual[2], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_regularizers_shrink_the_weights(usual):
    before = array(new_model().embedding.matrix)
    *_, weights = step(RegularizedModel)
    np.testing.assert_allclose(usual[2][0] - weights[0], 2 * 1e-2 * before, atol=1e-5)


@pytest.fixture
def chunked(monkeypatch):
    """A list with an element for each call of the loss in chunks."""
    calls, original = [], losses.chunked_sums

    def recorded(outputs, *args):
        calls.append(outputs.training)
        return original(outputs, *args)

    monkeypatch.setattr(losses, "chunked_sums", recorded)
    return calls


def test_the_usual_loss_is_computed_in_chunks(chunked):
    step(metrics=[TokenAccuracy(), Perplexity()])
    assert set(chunked) == {True, False}, "training and evaluation"


@pytest.mark.parametrize(
    "options",
    [{"loss": EachTenfold()}, {"model_class": CappedModel}, {"model_class": SharperModel}],
    ids=["loss", "embedding", "call"],
)
def test_nothing_is_computed_in_chunks_if_a_subclass_takes_part(chunked, options):
    model = new_model(**options)
    expected = float(model.loss(LABELS, model(INPUTS)))
    losses = [model.evaluate(INPUTS, LABELS, verbose=0)]
    with without_graphs():
        losses.append(float(model.train_on_batch(INPUTS, LABELS)))
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    assert chunked == []


def test_perplexity_and_accuracy_do_not_depend_on_the_loss():
    results = [
        new_model(loss=loss, metrics=[TokenAccuracy(), Perplexity()]).evaluate(
            INPUTS, LABELS, verbose=0, return_dict=True
        )
        for loss in (LabelSmoothedCrossEntropy(), CountTenth())
    ]
    usual, ours = results
    assert ours == pytest.approx({**usual, "loss": 10 * usual["loss"]}, rel=1e-5)
