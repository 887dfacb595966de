"""The search of commands and exported models beside `search`."""

import numpy as np
import pytest
import tensorflow as tf
from searches import SOURCE, found, model_that_ends

from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.staged_search import STAGE, staged_search


@pytest.mark.parametrize(
    "settings", [{"n_best": 3}, {"beam": 1}, {"method": "sample", "n_best": 2}]
)
def test_it_finds_the_same_and_who_has_finished_costs_nothing(settings):
    config = SearchConfig(extra_length=2 * STAGE, **settings)
    model, longest = model_that_ends(), SOURCE.shape[1] + config.extra_length
    tokens, scores = found(model, length=longest, extra_length=2 * STAGE, **settings)
    lengths = (tokens[:, 0] > 0).sum(-1)
    assert lengths.min() <= STAGE < lengths.max(), "some leave early"
    method, left = method_of(model, config), []
    with_room = method.with_room

    def counted(state, room):
        left.append(state.limits.shape[0])
        return with_room(state, room)

    method.with_room = counted
    extras = {}
    if config.method == "sample":
        extras["draws"] = tf.constant(draws_of(range(5), longest, config))
    staged = staged_search(method, tf.constant(SOURCE), None, extras)
    np.testing.assert_array_equal(staged.tokens, tokens)
    np.testing.assert_allclose(staged.scores, scores, atol=2e-5)
    assert 5 > left[0] > left[-1] == 0


def test_of_no_sentence_there_is_nothing():
    method = method_of(model_that_ends(), SearchConfig())
    tokens, scores = staged_search(method, tf.zeros([0, 3], tf.int32))
    assert tokens.shape[:2] == scores.shape == (0, 1)
