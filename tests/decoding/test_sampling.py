import types

import numpy as np
import pytest
from keras import ops
from support.models.helpers import array
from support.models.searches import SOURCE, model_that_ends, run_search

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


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_follow_the_probabilities(temperature):
    p = probabilities(temperature)
    frequencies, *_ = sample(temperature=temperature)
    deviations = np.sqrt(p * (1 - p) / COUNT)
    assert (np.abs(frequencies - p) <= 4.5 * deviations + 1e-9).all()


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


@pytest.mark.jax
@pytest.mark.parametrize("settings", [{}, {"temperature": 0.5, "top_k": 5}])
def test_a_sample_has_the_log_p_of_the_model(settings):
    _, ids, log_p = sample(**settings)
    expected = LOGITS - np.log(np.exp(LOGITS.astype("float64")).sum())
    np.testing.assert_allclose(log_p, expected[ids], atol=1e-5)


def test_a_sample_depends_only_on_the_seed_and_the_index():
    model = model_that_ends(num_layers=1)

    def samples(seed, **inputs):
        return run_search(model, method="sample", n_best=3, seed=seed, **inputs)

    tokens, scores = samples(5)
    np.testing.assert_array_equal(tokens, samples(5)[0])
    assert not np.array_equal(tokens, samples(6)[0])
    assert (np.diff(scores) <= 0).all(), "best first"
    alone, _ = samples(5, source=SOURCE[3:4], indices=[3])
    np.testing.assert_array_equal(alone[0], tokens[3])


def test_a_low_temperature_equals_greedy_search():
    model = model_that_ends(num_layers=1)
    cold, _ = run_search(model, method="sample", temperature=1e-4)
    np.testing.assert_array_equal(cold, run_search(model, beam=1)[0])


def test_draws_do_not_depend_on_the_length():
    config = SearchConfig(method="sample", n_best=2)
    short, long = (draws_of([3, 7], length, config) for length in (4, 9))
    np.testing.assert_array_equal(long[..., :4], short)
    assert short.shape == (2, 2, 4) and len(np.unique(short)) == 16
