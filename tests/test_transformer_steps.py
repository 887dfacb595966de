"""Cached decoding with the Transformer, one position at a time."""

import numpy as np
import pytest
from keras import ops
from support.models.helpers import OTHER_SYSTEMS, array, ids, pairs, tiny_model


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param(OTHER_SYSTEMS, marks=pytest.mark.jax),
        {"positions": "learned", "d_k": 3, "d_v": 5, "attention": "unscaled"},
        {"attention": "additive", "d_k": 3, "positions": "t5", "pre_norm": True},
        {"neighbourhood": 3, "decoder_neighbourhood": 30},
        {"positions": "alibi", "num_heads": 4, "decoder_neighbourhood": 3},
    ],
)
def test_cached_decoding_equals_uncached(settings):
    model, inputs = tiny_model(**settings), pairs(vocab_size=40)
    expected = array(model(inputs))
    memory, cache = model.start_decoding(ops.array(inputs["source"]), max_length=8)
    for position in range(6):
        tokens = ops.array(inputs["target"][:, position])
        logits, cache = model.decode_step(tokens, position, cache, memory)
        np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)
    if not model.steps_at_once:
        return
    for first, last in ((2, 3), (1, 6)):  # the second replaces what the first has read
        tokens = ops.array(inputs["target"][:, first:last])
        logits, cache = model.decode_step(tokens, first, cache, memory)
        logits = array(logits).reshape((*tokens.shape, -1))
        np.testing.assert_allclose(logits, expected[:, first:last], rtol=0, atol=1e-5)


def test_wrong_arguments_are_refused():
    model = tiny_model(num_layers=1)
    source = ops.array(ids(2, 3))
    for length in (0, "8"):
        with pytest.raises(ValueError, match="`max_length` must be"):
            model.start_decoding(source, max_length=length)
    with pytest.raises(ValueError, match="`beams` must be"):
        model.start_decoding(source, max_length=4, beams=0)
    with pytest.raises(ValueError, match=r"'source' must be integers .* rank 1"):
        model.start_decoding(source[0], max_length=4)


def test_with_restricted_attention_the_cache_has_a_neighbourhood_whatever_the_maximum_length():
    model, source = tiny_model(num_layers=1, decoder_neighbourhood=4), ops.array(ids(2, 3))
    for length in (16, 4096):
        _, cache = model.start_decoding(source, length, beams=2)
        assert tuple(cache[0].keys.shape) == (2, 2, 4 * 2, 8)
