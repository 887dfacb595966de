"""Columns of a batch in the training step: weights, alignments, and those of a user's loss."""

import keras
import numpy as np
import pytest
from training.step.test_replica_step import batch, new_model, trained

from t2t_keras import LabelSmoothedCrossEntropy, Perplexity, Transformer
from t2t_keras.guided_alignment import alignment_losses

LINKS = (np.random.default_rng(1).random((16, 9, 9)) < 0.3).astype("uint8")
WEIGHTS = np.linspace(0, 2, 16, dtype="float32")


def guided_batch(rows=slice(None)):
    inputs, labels = batch()
    inputs |= {"alignments": LINKS * (labels > 0)[:, :, None] * (inputs["source"] > 0)[:, None]}
    inputs |= {"weights": WEIGHTS, "target": inputs["target"] * (labels > 0)}
    inputs = {name: array[rows] for name, array in inputs.items()}
    return inputs, labels[rows], WEIGHTS[rows]


def assert_close(result, expected):
    for ours, theirs in zip(result[0], expected[0], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    assert result[1]["loss"] == pytest.approx(expected[1]["loss"], rel=1e-5)


def test_a_pair_of_weight_zero_counts_nowhere_in_parts_as_in_one():
    expected = trained(data=guided_batch(slice(1, 16)), guided_alignment=0.5)
    assert_close(trained(data=guided_batch(), guided_alignment=0.5), expected)
    assert_close(trained(data=guided_batch(), guided_alignment=0.5, accumulate=4), expected)
    assert np.abs(trained(data=guided_batch())[0][0] - expected[0][0]).max() > 1e-3


@pytest.mark.long
def test_guidance_on_two_replicas_equals_one(replicas):
    expected = trained(data=guided_batch(), guided_alignment=0.5)
    options = {"guided_alignment": 0.5, "jit_compile": True, "accumulate": 2}
    assert_close(trained(replicas, data=guided_batch(), **options), expected)


def test_the_loss_of_a_position_is_the_cross_entropy_of_its_links():
    attention = np.random.default_rng(2).dirichlet(np.ones(9), (16, 9)).astype("float32")
    losses = keras.ops.convert_to_numpy(alignment_losses(keras.ops.array(attention), LINKS))
    for row, weights, links in zip(losses, attention, LINKS, strict=True):
        for loss, p, linked in zip(row, weights, links > 0, strict=True):
            assert loss == pytest.approx(-np.log(p[linked]).mean() if linked.any() else 0, rel=1e-3)
    half = keras.ops.cast(keras.ops.array(attention), "bfloat16")
    assert alignment_losses(half, LINKS).dtype == "float32"


def test_weights_leave_the_logits_in_chunks():
    model = new_model()
    model.compile("adam", LabelSmoothedCrossEntropy(), weighted_metrics=[Perplexity()])
    inputs, labels, weights = guided_batch()
    assert model.sums_and_logits(inputs, labels, weights, training=True)[1] is None
    result = model.evaluate(inputs, labels, sample_weight=weights, batch_size=16, verbose=0)
    sums = LabelSmoothedCrossEntropy().sums(model(inputs), labels, weights)
    assert result[1] == pytest.approx(np.exp(float(sums.unsmoothed / sums.tokens)), rel=1e-4)


class Scaled(LabelSmoothedCrossEntropy):
    columns = ("weights",)

    def call(self, y_true, y_pred, weights):
        losses = super().call(y_true, y_pred)
        return losses if weights is None else losses * weights[:, None]


def test_a_loss_takes_the_columns_that_it_names():
    """The column as a factor in the loss is the sample weight, but for the loss's divisor."""
    (inputs, labels, weights), model = guided_batch(), new_model()
    model.compile("sgd", Scaled(0.1))
    sums, _ = model.sums_and_logits(inputs, labels, None, training=True)
    model.compile("sgd", LabelSmoothedCrossEntropy(0.1))
    expected, _ = model.sums_and_logits(inputs, labels, weights, training=True)
    assert float(sums.loss) == pytest.approx(float(expected.loss), rel=1e-5)
    assert float(sums.count) == (labels > 0).sum()


class Lengthened(Transformer):
    columns = ("weights",)

    def decode(self, source, target, training=None, return_weights=False, weights=None):
        x = super().decode(source, target, training, return_weights)
        factor = 1 if weights is None else weights[:, None, None]
        return (x[0] * factor, x[1]) if return_weights else x * factor


def test_a_model_takes_the_columns_that_it_names():
    (inputs, _, _), model = guided_batch(), new_model(model_class=Lengthened)
    plain = model({name: inputs[name] for name in ("source", "target")}, project=False)
    found = model(inputs, training=True, project=False)
    np.testing.assert_allclose(found, plain * WEIGHTS[:, None, None], atol=1e-5)
    model.compile("sgd", LabelSmoothedCrossEntropy(), guided_alignment=0.5)
    np.testing.assert_allclose(model(inputs, training=True, project=False), found, atol=1e-5)


def test_a_model_without_heads_cannot_be_guided():
    class WithoutHeads(Transformer):
        def decode(self, source, target, training=None):
            return super().decode(source, target, training)

    model = new_model(model_class=WithoutHeads)
    with pytest.raises(ValueError, match="no attention heads to guide"):
        model.compile("sgd", LabelSmoothedCrossEntropy(), guided_alignment=0.1)
