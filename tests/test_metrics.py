import keras
import numpy as np
import pytest
from support.models.helpers import ids, vectors

from t2t_keras import Perplexity, TokenAccuracy


@pytest.mark.jax
def test_metrics_are_means_over_the_real_tokens_of_all_batches():
    accuracy, perplexity = TokenAccuracy(), Perplexity()
    right, losses = [], []
    for seed, real in ((0, [5, 2]), (1, [1, 1]), (2, [5, 5])):
        labels, logits = ids(2, 5, real, seed=seed), vectors(2, 5, 50, seed=seed)
        logits[0, 0, labels[0, 0]] = 9  # at least one correct token
        accuracy.update_state(labels, logits)
        perplexity.update_state(labels, logits)
        logits = logits.astype("float64")
        log_q = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
        losses.extend(-np.take_along_axis(log_q, labels[..., None], -1)[..., 0][labels != 0])
        right.extend((logits.argmax(-1) == labels)[labels != 0])
    assert len(right) == 19 and sum(right) >= 3
    assert float(accuracy.result()) == pytest.approx(np.mean(right))
    assert float(perplexity.result()) == pytest.approx(np.exp(np.mean(losses)), rel=1e-5)
    perplexity.reset_state()
    perplexity.update_state(ids(2, 4), np.zeros((2, 4, 50), "float32"))
    assert float(perplexity.result()) == pytest.approx(50, rel=1e-5), "a uniform guess"


@pytest.mark.parametrize("metric", [TokenAccuracy(), Perplexity()], ids=["accuracy", "perplexity"])
def test_sample_weights_are_used_also_after_serialization(metric):
    twin = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert twin.name == metric.name
    labels = np.array([[3, 4], [5, 0]])
    logits = np.zeros((2, 2, 6), "float32")
    logits[0, :, 3] = 9
    twin.update_state(labels, logits, sample_weight=np.array([1.0, 2.0]))
    expected = 1 / 4 if isinstance(twin, TokenAccuracy) else np.exp((9 + 2 * np.log(6)) / 4)
    assert float(twin.result()) == pytest.approx(expected, rel=1e-3)
