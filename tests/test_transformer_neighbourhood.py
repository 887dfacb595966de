"""Restricted self-attention in the model: `neighbourhood` and `decoder_neighbourhood`."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import TINY, array, ids, pairs, tensors, tiny_model
from support.models.searches import SOURCE, as_graph, model_that_ends, run_search

from t2t_keras import TransformerConfig
from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.decoding.search import advance, method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.layers import local_mask
from t2t_keras.parameters import parameter_counts

RESTRICTED = {"neighbourhood": 3, "decoder_neighbourhood": 4}


def test_a_restricted_model_has_the_weights_of_a_full_one():
    restricted, full = (
        [(weight.path.split("/", 1)[1], weight.shape) for weight in tiny_model(**settings).weights]
        for settings in (RESTRICTED, {})
    )
    assert restricted == full
    restricted, full = (
        parameter_counts(TransformerConfig(**TINY, **settings)) for settings in (RESTRICTED, {})
    )
    assert restricted == full


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


def test_attention_weights_are_bands():
    model, inputs = tiny_model(**RESTRICTED), {"source": ids(2, 9), "target": ids(2, 8)}
    weights = {name: array(heads) for name, heads in model.attention_weights(inputs).items()}
    for name, mask in {
        "encoder/1/self_attention": local_mask(9, 3),
        "decoder/1/self_attention": local_mask(8, 4, causal=True),
    }.items():
        seen = np.broadcast_to(array(mask).astype(bool), weights[name].shape)
        np.testing.assert_array_equal(weights[name] > 0, seen)
    assert (weights["decoder/1/cross_attention"] > 0).all()


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


def found(model, source=SOURCE, length=14, **settings):
    """Returns what a search finds with the number of sentences known when it is compiled."""
    method = method_of(model, SearchConfig(**settings))

    def decode():
        state = method.start(ops.convert_to_tensor(source, "int32"), length, length)
        return tuple(method.hypotheses(advance(method, state, length)))

    return map(array, as_graph(decode)())


@pytest.mark.long
@pytest.mark.parametrize("beam", [2, 4])
def test_a_beam_search_with_a_rolling_cache_finds_the_same_as_without_a_cache(beam):
    model = model_that_ends(end=0.0, num_layers=2, **RESTRICTED)
    settings = {"beam": beam, "n_best": 2}
    tokens, scores = run_search(model, length=14, **settings)
    assert (tokens[:, 0] > 0).sum(-1).max() > 2 * 4, "the cache rolls more than once"
    expected_tokens, expected_scores = found(Uncached(model), **settings)
    np.testing.assert_array_equal(tokens, expected_tokens)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("settings", [{"n_best": 2}, {"beam": 1}], ids=["beam", "greedy"])
def test_a_search_in_stages_finds_the_same(settings):
    one_layer = {"end": 0.0, "num_layers": 1}
    model = Ensemble(
        [model_that_ends(1, **one_layer, **RESTRICTED), model_that_ends(2, **one_layer)]
    )
    expected_tokens, expected_scores = run_search(model, length=14, **settings)
    method = method_of(model, SearchConfig(**settings))

    def decode():
        state, sizes = method.start(ops.convert_to_tensor(SOURCE, "int32"), 3, 14), []
        for room in (3, 6, 14):
            state = method.with_room(state, room)
            sizes.append([each[0].keys.shape[2] for each in state.cache])
            state = advance(method, state, room)
        beam = method.config.beam
        assert sizes == [[3 * beam, 3 * beam], [4 * beam, 6 * beam], [4 * beam, 14 * beam]]
        return tuple(method.hypotheses(state))

    tokens, scores = map(array, as_graph(decode)())
    np.testing.assert_array_equal(tokens, expected_tokens)
    np.testing.assert_allclose(scores, expected_scores, atol=1e-4)


def test_a_step_costs_the_same_whatever_the_maximum_length():
    model, source = tiny_model(num_layers=1, **RESTRICTED), ops.array(ids(2, 3))
    sizes = []
    for length in (16, 4096):
        memory, cache = model.start_decoding(source, length, beams=2)
        assert cache[0].keys.shape == (2, 2, 4 * 2, 8)
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


def test_a_step_may_be_beyond_the_length_of_a_rolling_cache():
    model = tiny_model(num_layers=1, decoder_neighbourhood=2)
    memory, cache = model.start_decoding(ops.array(ids(1, 3)), max_length=100)
    assert cache[0].keys.shape[2] == 2
    logits, _ = model.decode_step(ops.array([1]), 50, cache, memory)
    assert np.isfinite(array(logits)).all()
