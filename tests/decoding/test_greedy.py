import numpy as np
import pytest
from support.models.helpers import tiny_model
from support.models.searches import run_search, scores_of, set_bias, uncached_log_softmax

SOURCE = np.array([[5, 6, 7, 2, 0], [9, 2, 0, 0, 0], [3, 4, 3, 4, 2]], "int32")
LENGTH = 7


@pytest.fixture(scope="module")
def model():
    return tiny_model(num_layers=1, output_bias=True)


def greedy(model, source=SOURCE):
    tokens, scores = run_search(model, source, LENGTH, beam=1, extra_length=2)
    return tokens[:, 0], scores[:, 0]


@pytest.mark.jax
def test_every_token_is_the_likeliest_after_the_ones_before_it(model):
    tokens, _ = greedy(model)
    log_p = uncached_log_softmax(model, SOURCE, tokens)
    log_p[..., :2] = -np.inf
    np.testing.assert_array_equal(np.where(tokens, log_p.argmax(-1), 0), tokens)
    assert (tokens > 2).any()


def test_each_sentence_has_its_own_limit(model):
    tokens, _ = greedy(model)
    lengths, limits = (tokens > 0).sum(-1), (SOURCE > 0).sum(-1) + 2
    ended = (tokens == 2).any(-1)
    assert (lengths <= limits).all() and (ended | (lengths == limits)).all()
    assert not ended.all()


def test_a_finished_sentence_is_padded():
    model = tiny_model(num_layers=1, output_bias=True)
    set_bias(model, {2: 1e3})  # every output ends at once
    np.testing.assert_array_equal(greedy(model)[0], [[2] + [0] * (LENGTH - 1)] * 3)


def test_rows_do_not_affect_each_other(model):
    tokens, _ = greedy(model)
    for row in range(3):
        np.testing.assert_array_equal(greedy(model, SOURCE[row : row + 1])[0][0], tokens[row])


def test_the_score_is_that_of_the_tokens(model):
    tokens, scores = greedy(model)
    np.testing.assert_allclose(scores, scores_of(model, SOURCE, tokens), rtol=1e-4)
