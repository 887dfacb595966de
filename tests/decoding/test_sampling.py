import numpy as np
import pytest
from helpers import array
from keras import ops
from searches import SOURCE, found, model_that_ends

from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search_config import SearchConfig


def first_tokens(model, count=4000, **settings):
    """What many samples of one sentence begin with, as frequencies."""
    source = SOURCE[:1].repeat(count // 50, axis=0)
    tokens, _ = found(model, source, length=1, method="sample", n_best=50, **settings)
    return np.bincount(tokens[:, :, 0].ravel(), minlength=40) / count


def first_p(model, temperature=1.0):
    inputs = {"source": ops.array(SOURCE[:1]), "target": ops.array([[1]])}
    logits = array(model(inputs))[0, 0].astype("float64") / temperature
    logits[:2] = -np.inf
    p = np.exp(logits - logits.max())
    return p / p.sum()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_tokens_come_as_often_as_they_are_likely(temperature):
    model = model_that_ends()
    p = first_p(model, temperature)
    frequencies = first_tokens(model, temperature=temperature)
    deviations = np.sqrt(p * (1 - p) / 4000)
    assert (np.abs(frequencies - p) <= 4.5 * deviations + 1e-9).all()


def test_only_the_likeliest_are_drawn_if_that_is_wanted():
    model = model_that_ends()
    p = first_p(model)
    order = np.argsort(-p)
    frequencies = first_tokens(model, top_k=3)
    assert set(np.flatnonzero(frequencies)) == set(order[:3])
    share = p[order[:3]] / p[order[:3]].sum()
    np.testing.assert_allclose(frequencies[order[:3]], share, atol=0.04)
    needed = int((np.cumsum(p[order]) < 0.7).sum()) + 1
    assert set(np.flatnonzero(first_tokens(model, top_p=0.7))) == set(order[:needed])
    assert set(np.flatnonzero(first_tokens(model, top_p=1e-6))) == {order[0]}


@pytest.mark.one_backend
def test_a_sample_depends_on_the_seed_and_the_sentence_alone():
    model = model_that_ends()
    tokens, scores = found(model, method="sample", n_best=3, seed=5)
    again, _ = found(model, method="sample", n_best=3, seed=5)
    other, _ = found(model, method="sample", n_best=3, seed=6)
    np.testing.assert_array_equal(tokens, again)
    assert not np.array_equal(tokens, other)
    assert (np.diff(scores) <= 0).all(), "the best first"
    alone, _ = found(model, SOURCE[3:4], method="sample", n_best=3, seed=5, indices=[3])
    np.testing.assert_array_equal(alone[0], tokens[3])


def test_cold_it_is_greedy():
    model = model_that_ends()
    cold, _ = found(model, method="sample", temperature=1e-4)
    np.testing.assert_array_equal(cold, found(model, beam=1)[0])


def test_draws_are_the_same_however_many_there_are():
    config = SearchConfig(method="sample", n_best=2)
    short, long = (draws_of([3, 7], length, config) for length in (4, 9))
    np.testing.assert_array_equal(long[..., :4], short)
    assert short.shape == (2, 2, 4) and len(np.unique(short)) == 16
