import numpy as np
import pytest
from support.models.helpers import tiny_model
from support.models.searches import run_search, scores_of, set_bias, uncached_log_softmax

SOURCE = np.array([[5, 6, 7, 2, 0], [9, 2, 0, 0, 0], [3, 4, 3, 4, 2]], "int32")
LENGTH = 7


def greedy(model, source=SOURCE):
    tokens, scores = run_search(model, source, LENGTH, beam=1, extra_length=2)
    return tokens[:, 0], scores[:, 0]


@pytest.mark.jax
def test_every_token_is_the_likeliest_after_the_ones_before_it():
    model = tiny_model(num_layers=1, output_bias=True)
    tokens, scores = greedy(model)
    log_p = uncached_log_softmax(model, SOURCE, tokens)
    log_p[..., :2] = -np.inf
    np.testing.assert_array_equal(np.where(tokens, log_p.argmax(-1), 0), tokens)
    np.testing.assert_allclose(scores, scores_of(model, SOURCE, tokens), rtol=1e-4)
    for row in range(3):
        np.testing.assert_array_equal(greedy(model, SOURCE[row : row + 1])[0][0], tokens[row])


def test_an_output_ends_at_the_limit_of_its_sentence_or_earlier_and_is_padded():
    model = tiny_model(num_layers=1, output_bias=True)
    set_bias(model, {2: -100.0})  # no output ends
    assert (greedy(model)[0] > 0).sum(-1).tolist() == [6, 4, 7]
    set_bias(model, {2: 1e3})  # every output ends at once
    np.testing.assert_array_equal(greedy(model)[0], [[2] + [0] * (LENGTH - 1)] * 3)
