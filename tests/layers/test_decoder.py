import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, vectors

from t2t_keras.decoding_cache import decoding_step
from t2t_keras.layers import Decoder, DecoderBlock, Encoder, SharedEmbedding

BLOCK = {"d_model": 8, "d_ff": 16, "num_heads": 2}


@pytest.mark.jax
def test_contract_of_a_stack(tmp_path):
    inputs = [vectors(2, 4, 8), vectors(2, 5, 12, seed=1)]  # the memory may be wider
    check_layer(Decoder, {"num_layers": 1, **BLOCK, "pre_norm": True}, inputs, 18 + 2, tmp_path)


def test_contract_of_a_block_without_cross_attention(tmp_path):
    check_layer(DecoderBlock, {**BLOCK, "cross_attention": False}, [vectors(2, 4, 8)], 12, tmp_path)


@pytest.mark.parametrize("neighbourhood", [None, 2])
def test_cached_decoding_without_memory_equals_uncached(neighbourhood):
    layer = Decoder(2, **BLOCK, cross_attention=False, neighbourhood=neighbourhood)
    x = vectors(6, 4, 8)  # three hypotheses for each of two sentences
    expected, weights = layer(x, return_weights=True)
    assert sorted(weights) == ["0/self_attention", "1/self_attention"]
    cache = layer.empty_cache(2, 4, beams=3)
    for position in range(4):
        step = decoding_step(cache[0], position, 3, rolling=neighbourhood is not None)
        outputs, cache = layer.decode_step(ops.array(x[:, position]), step, cache)
        np.testing.assert_allclose(array(outputs), array(expected)[:, position], atol=1e-5)


def test_cached_decoding_of_several_hypotheses_equals_uncached():
    layer = Decoder(2, **BLOCK)
    memory = ops.array(vectors(2, 5, 8, seed=1))
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
    x = vectors(6, 4, 8)  # three hypotheses for each of two sentences
    expected = array(
        layer(ops.array(x), ops.repeat(memory, 3, axis=0), memory_mask=mask.repeat(3, axis=0))
    )
    cache, keys_values = layer.empty_cache(2, 4, beams=3), layer.keys_and_values(memory)
    for position in range(4):
        step = decoding_step(cache[0], position, beams=3)
        outputs, cache = layer.decode_step(
            ops.array(x[:, position]), step, cache, keys_values, memory_mask=mask
        )
        np.testing.assert_allclose(array(outputs), expected[:, position], atol=1e-5)
    assert keys_values[0].keys.shape[0] == 2


def test_a_memory_is_given_exactly_if_there_is_cross_attention():
    x, memory = ops.array(vectors(1, 4, 8)), ops.array(vectors(1, 5, 8))
    with pytest.raises(ValueError, match=r"requires a `memory`.*cross_attention=False"):
        Decoder(1, **BLOCK)(x)
    with pytest.raises(ValueError, match=r"a decoder has no `memory`.* Received: a memory$"):
        DecoderBlock(**BLOCK, cross_attention=False).call(x, memory)
    with pytest.raises(ValueError, match=r"no `memory_mask`. Received: a memory_mask"):
        Decoder(1, **BLOCK, cross_attention=False)(x, memory_mask=np.ones((1, 5), bool))
    with pytest.raises(ValueError, match="cross_attention=False, a decoder has no"):
        Decoder(1, **BLOCK, cross_attention=False).keys_and_values(memory)


@pytest.mark.parametrize("cross_attention", [True, False])
def test_keras_masks_of_both_sequences_are_honoured(cross_attention):
    embedding, encoder = SharedEmbedding(20, 8), Encoder(num_layers=1, **BLOCK)
    source, target = np.array([[4, 5, 0, 0]]), np.array([[0, 0, 6, 7]])  # padding on either side
    layer = Decoder(2, **BLOCK, cross_attention=cross_attention)
    padded, bare = (
        array(layer(embedding(y), *([encoder(embedding(x))] if cross_attention else [])))
        for x, y in ((source, target), (source[:, :2], target[:, 2:]))
    )
    np.testing.assert_allclose(padded[:, 2:], bare, atol=1e-5)
