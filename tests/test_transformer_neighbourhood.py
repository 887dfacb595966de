"""Restricted self-attention in the model: `neighbourhood` and `decoder_neighbourhood`."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, ids, pairs, tensors, tiny_model
from support.models.searches import SOURCE, as_graph, model_that_ends, run_search

from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.search_config import SearchConfig

RESTRICTED = {"neighbourhood": 3, "decoder_neighbourhood": 4, "num_layers": 1}


def test_neighbourhoods_that_contain_every_position_change_nothing():
    inputs = tensors(pairs())  # 7 and 6 tokens
    full = tiny_model(num_layers=1)
    expected = array(full(inputs))

    def difference(**settings):
        model = tiny_model(num_layers=1, **settings)
        model.set_weights(full.get_weights())
        return np.abs(array(model(inputs)) - expected).max()

    assert difference(neighbourhood=13, decoder_neighbourhood=6) < 1e-5
    assert difference(neighbourhood=12) > 1e-3
    assert difference(decoder_neighbourhood=5) > 1e-3


class Uncached:
    """Decodes as its model does, but computes all positions again at each step.

    The cache holds the token in each slot, of all positions.
    """

    def __init__(self, model):
        self.model, self.config, self.longest = model, model.config, None

    def start_decoding(self, source, max_length, beams):
        return source, ops.zeros((ops.shape(source)[0], max_length * beams), "int32")

    def decode_step(self, tokens, position, cache, memory, visible):
        sentences, beams, slots = visible.shape
        newest = ops.tile(ops.reshape(tokens, (-1, beams)), (1, slots // beams))
        cache = ops.where(ops.arange(slots) // beams == position, newest, cache)
        own = ops.where(visible, cache[:, None], 0)  # at most one slot of each position
        target = ops.sum(ops.reshape(own, (sentences * beams, -1, beams)), axis=2)
        source = ops.repeat(memory, beams, axis=0)
        logits = self.model({"source": source, "target": target})
        return ops.take(logits, position, axis=1), cache


@pytest.mark.long
def test_a_beam_search_with_a_rolling_cache_finds_the_same_as_without_a_cache():
    model = model_that_ends(end=0.0, **RESTRICTED)
    settings = {"beam": 2, "n_best": 2}
    tokens, scores = run_search(model, length=12, **settings)
    assert (tokens[:, 0] > 0).sum(-1).max() > 2 * 4, "the cache rolls more than once"
    method = method_of(Uncached(model), SearchConfig(**settings))

    def decode():
        state = method.start(ops.convert_to_tensor(SOURCE, "int32"), 12, 12)
        return tuple(method.hypotheses(advance(method, state, 12)))

    expected_tokens, expected_scores = map(array, as_graph(decode)())
    np.testing.assert_array_equal(tokens, expected_tokens)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-4)


@pytest.mark.long
def test_a_search_in_stages_finds_the_same():
    model = Ensemble(
        [
            model_that_ends(1, end=0.0, **RESTRICTED),
            model_that_ends(2, end=0.0, num_layers=1),
        ]
    )
    settings = {"beam": 2, "n_best": 2}
    expected_tokens, expected_scores = run_search(model, length=14, **settings)
    method = method_of(model, SearchConfig(**settings))

    def decode():
        state, sizes = method.start(ops.convert_to_tensor(SOURCE, "int32"), 3, 14), []
        for room in (3, 6, 14):
            state = method.with_room(state, room)
            sizes.append([each[0].keys.shape[2] for each in state.cache])
            state = advance(method, state, room)
        assert sizes == [[3 * 2, 3 * 2], [4 * 2, 6 * 2], [4 * 2, 14 * 2]]
        return tuple(method.hypotheses(state))

    tokens, scores = map(array, as_graph(decode)())
    np.testing.assert_array_equal(tokens, expected_tokens)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-4)


def test_a_step_costs_the_same_whatever_the_maximum_length():
    model, source = tiny_model(**RESTRICTED), ops.array(ids(2, 3))
    sizes = []
    for length in (16, 4096):
        memory, cache = model.start_decoding(source, length, beams=2)
        assert cache[0].keys.shape == (2, 2, 4 * 2, 8)
        # Steps beyond the length of the cache are computed, too.
        sizes.append(largest_array(model.decode_step, ops.ones(4, "int32"), 9, cache, memory))
    assert sizes[0] == sizes[1]


def largest_array(function, *arguments):
    """Returns the number of elements of the largest array that a function computes."""
    if keras.backend.backend() == "jax":
        import jax

        program = jax.make_jaxpr(lambda *traced: function(traced[0], arguments[1], *traced[1:]))
        equations = program(arguments[0], *arguments[2:]).eqns
        shapes = [variable.aval.shape for each in equations for variable in each.outvars]
    else:
        import tensorflow as tf

        graph = tf.function(function).get_concrete_function(*arguments).graph
        shapes = [x.shape for each in graph.get_operations() for x in each.outputs]
    return max(np.prod(shape) for shape in shapes)
