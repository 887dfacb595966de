import types

import numpy as np
import pytest
from keras import ops
from support.models.helpers import array
from support.models.table_model import TableModel, search_table

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.decoding.sampling import Sampling, draws_of
from t2t_keras.decoding.search_config import SearchConfig

COUNT = 4000
LOGITS = 2 * np.random.default_rng(0).normal(size=40).astype("float32")


def probabilities(temperature=1.0):
    """The probability of each token; padding and begin have none."""
    p = np.exp(LOGITS.astype("float64") / temperature)
    p[:2] = 0
    return p / p.sum()


def sample(**settings):
    """Draws `COUNT` tokens from `LOGITS`; returns their frequencies and log P."""
    config = SearchConfig(method="sample", n_best=COUNT, **settings)
    draws = draws_of([0], 1, config)
    tokens = Hypotheses(ops.zeros((1, COUNT, 1), "int32"), ops.zeros((1, COUNT)))
    state = types.SimpleNamespace(
        position=ops.array(0), hypotheses=tokens, extras={"draws": ops.array(draws)}
    )
    logits = ops.array(np.broadcast_to(LOGITS, (1, COUNT, 40)))
    log_p, ids = map(array, Sampling(None, config).choose(logits, state))
    ids = ids.astype("int32").ravel()
    return np.bincount(ids, minlength=40) / COUNT, ids, log_p.ravel()


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_frequencies_follow_the_probabilities(temperature):
    p = probabilities(temperature)
    frequencies, *_ = sample(temperature=temperature)
    assert (np.abs(frequencies - p) <= 4.5 * np.sqrt(p * (1 - p) / COUNT) + 1e-9).all()


def test_top_k_draws_from_the_k_likeliest_tokens():
    p = probabilities()
    likeliest = np.argsort(-p)[:3]
    frequencies, *_ = sample(top_k=3)
    assert set(np.flatnonzero(frequencies)) == set(likeliest)
    share = p[likeliest] / p[likeliest].sum()
    np.testing.assert_allclose(frequencies[likeliest], share, atol=0.04)


@pytest.mark.parametrize("top_p", [0.7, 1e-6])
def test_top_p_draws_from_the_fewest_tokens_that_reach_it(top_p):
    p = probabilities()
    order = np.argsort(-p)
    needed = int((np.cumsum(p[order]) < top_p).sum()) + 1
    assert set(np.flatnonzero(sample(top_p=top_p)[0])) == set(order[:needed])


@pytest.mark.parametrize(
    "settings", [{}, pytest.param({"temperature": 0.5, "top_k": 5}, marks=pytest.mark.jax)]
)
def test_a_sample_has_the_log_p_of_the_model(settings):
    _, ids, log_p = sample(**settings)
    expected = LOGITS - np.log(np.exp(LOGITS.astype("float64")).sum())
    np.testing.assert_allclose(log_p, expected[ids], atol=1e-5)


def test_a_sample_depends_only_on_the_seed_and_the_index():
    config = SearchConfig(method="sample", n_best=2, seed=5)
    short, long = (draws_of([3, 7], length, config) for length in (4, 9))
    np.testing.assert_array_equal(long[..., :4], short)
    np.testing.assert_array_equal(draws_of([7], 4, config), short[1:])
    assert short.shape == (2, 2, 4) and len(np.unique(short)) == 16
    other = draws_of([3, 7], 4, SearchConfig(method="sample", n_best=2, seed=6))
    assert not np.isin(other, short).any()


def test_samples_are_sorted_and_at_a_low_temperature_equal_greedy_search():
    model, limits = TableModel(2, vocabulary=12), [3, 6, 9]
    *_, samples = search_table(model, limits, method="sample", n_best=3)
    assert len(set(samples)) == 3 and samples == sorted(samples, reverse=True)
    cold = search_table(model, limits, method="sample", temperature=1e-4)
    greedy = search_table(model, limits, beam=1)
    assert [[tokens for _, tokens in row] for row in cold] == [
        [tokens for _, tokens in row] for row in greedy
    ]
