"""The search in stages, which commands and exported models use, equals `search`."""

import numpy as np
import pytest
import tensorflow as tf
from support.models.searches import SOURCE, model_that_ends, run_search

from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export import search_in_stages as module
from t2t_keras.export.search_in_stages import search_in_stages

STAGE = 6


@pytest.mark.long
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ({"neighbourhood": 3, "decoder_neighbourhood": 4}, {"n_best": 3}),
        ({}, {"method": "sample", "n_best": 2}),
    ],
)
def test_the_results_are_equal_and_finished_sentences_leave_the_batch(model, settings, monkeypatch):
    monkeypatch.setattr(module, "STAGE", STAGE)
    config = SearchConfig(extra_length=2 * STAGE, **settings)
    model, longest = model_that_ends(**model), SOURCE.shape[1] + config.extra_length
    tokens, scores = run_search(model, length=longest, extra_length=2 * STAGE, **settings)
    lengths = (tokens[:, 0] > 0).sum(-1)
    assert lengths.min() <= STAGE < lengths.max(), "some sentences end in the first stage"
    method, remaining = method_of(model, config), []
    with_room = method.with_room

    def counting_with_room(state, room):
        remaining.append(state.limits.shape[0])
        return with_room(state, room)

    method.with_room = counting_with_room
    extras = {}
    if config.method == "sample":
        extras["draws"] = tf.constant(draws_of(range(5), longest, config))
    staged = search_in_stages(method, tf.constant(SOURCE), None, extras)
    np.testing.assert_array_equal(staged.tokens, tokens)
    np.testing.assert_allclose(staged.scores, scores, atol=2e-5)
    assert 5 > remaining[0] > remaining[-1] == 0


def test_a_batch_without_sentences_has_no_hypotheses():
    method = method_of(model_that_ends(), SearchConfig())
    tokens, scores = search_in_stages(method, tf.zeros([0, 3], tf.int32))
    assert tokens.shape[:2] == scores.shape == (0, 1)
