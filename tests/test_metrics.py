import keras
import numpy as np
import pytest
from support.models.helpers import ids, vectors

from t2t_keras import LabelSmoothedCrossEntropy, Perplexity, TokenAccuracy


def batches():
    for seed, real in ((0, [5, 2]), (1, [1, 1]), (2, [5, 5])):
        labels, logits = ids(2, 5, real, seed=seed), vectors(2, 5, 50, seed=seed)
        logits[0, 0, labels[0, 0]] = 9  # at least one correct token
        yield labels, logits


@pytest.mark.jax
def test_metrics_are_means_over_the_real_tokens_of_all_batches():
    accuracy, perplexity = TokenAccuracy(), Perplexity()
    right = tokens = 0
    negative_log_likelihood = 0.0
    for labels, logits in batches():
        accuracy.update_state(labels, logits)
        perplexity.update_state(labels, logits)
        real = labels != 0
        logits = logits.astype("float64")
        log_q = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        negative_log_likelihood -= np.take_along_axis(log_q, labels[..., None], -1)[real].sum()
        right += (logits.argmax(-1) == labels)[real].sum()
        tokens += real.sum()
    assert tokens == 19 and right >= 3
    assert float(accuracy.result()) == pytest.approx(right / tokens)
    assert float(perplexity.result()) == pytest.approx(
        np.exp(negative_log_likelihood / tokens), rel=1e-5
    )
    perplexity.reset_state()
    labels, logits = next(batches())
    perplexity.update_state(labels, logits)
    plain = LabelSmoothedCrossEntropy(0.0)
    assert float(perplexity.result()) == pytest.approx(
        np.exp(float(plain(labels, logits))), rel=1e-5
    )


def test_the_perplexity_of_a_uniform_guess_is_the_vocabulary_size():
    perplexity = Perplexity()
    perplexity.update_state(ids(2, 4), np.zeros((2, 4, 50), "float32"))
    assert float(perplexity.result()) == pytest.approx(50, rel=1e-5)


def test_sample_weights_are_used():
    accuracy = TokenAccuracy()
    labels = np.array([[3, 4], [5, 0]])
    logits = np.zeros((2, 2, 6), "float32")
    logits[0, :, 3] = 1
    accuracy.update_state(labels, logits, sample_weight=np.array([1.0, 2.0]))
    assert float(accuracy.result()) == pytest.approx(1 / 4)


@pytest.mark.parametrize("metric", [TokenAccuracy(), Perplexity()])
def test_serialization(metric):
    twin = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert type(twin) is type(metric) and twin.name == metric.name
