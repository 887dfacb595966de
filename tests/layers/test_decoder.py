import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, vectors

from t2t_keras.decoding_cache import decoding_step
from t2t_keras.layers import Decoder, DecoderBlock, Encoder, SharedEmbedding

BLOCK = {"d_model": 8, "d_ff": 16, "num_heads": 2}


def decoder():
    return Decoder(num_layers=2, **BLOCK)


@pytest.mark.jax
def test_contract_of_block_and_stack(tmp_path):
    inputs = [vectors(2, 4, 8), vectors(2, 5, 12, seed=1)]  # the memory may be wider
    check_layer(DecoderBlock, BLOCK, inputs, 4 + 2 + 4 + 2 + 4 + 2, tmp_path)
    check_layer(Decoder, {"num_layers": 1, **BLOCK, "pre_norm": True}, inputs, 18 + 2, tmp_path)


def test_contract_without_cross_attention(tmp_path):
    settings = {"num_layers": 1, **BLOCK, "cross_attention": False, "pre_norm": True}
    check_layer(Decoder, settings, [vectors(2, 4, 8)], 12 + 2, tmp_path)


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


def test_the_keras_mask_is_honoured_without_memory():
    embedding, tokens = SharedEmbedding(20, 8), np.array([[0, 0, 6, 7]])
    layer = Decoder(2, **BLOCK, cross_attention=False)
    padded, bare = (array(layer(embedding(ids))) for ids in (tokens, tokens[:, 2:]))
    np.testing.assert_allclose(padded[:, 2:], bare, atol=1e-5)


def test_a_memory_is_given_exactly_if_there_is_cross_attention():
    x, memory = ops.array(vectors(1, 4, 8)), ops.array(vectors(1, 5, 8))
    with pytest.raises(ValueError, match=r"requires a `memory`.*cross_attention=False"):
        decoder()(x)
    with pytest.raises(ValueError, match=r"a decoder has no `memory`.* Received: a memory$"):
        DecoderBlock(**BLOCK, cross_attention=False).call(x, memory)
    with pytest.raises(ValueError, match=r"no `memory_mask`. Received: a memory_mask"):
        Decoder(1, **BLOCK, cross_attention=False)(x, memory_mask=np.ones((1, 5), bool))
    with pytest.raises(ValueError, match="`cross_attention` must be True or False"):
        DecoderBlock(**BLOCK, cross_attention=None)
    with pytest.raises(ValueError, match="cross_attention=False, a decoder has no"):
        Decoder(1, **BLOCK, cross_attention=False).keys_and_values(memory)


def test_later_positions_do_not_change_earlier_ones():
    layer = decoder()
    x, memory = vectors(1, 6, 8), ops.array(vectors(1, 5, 8, seed=1))
    changed = x.copy()
    changed[:, 4:] = 7
    before, after = (array(layer(ops.array(v), memory)) for v in (x, changed))
    assert len(layer.weights) == 2 * 18
    np.testing.assert_allclose(after[:, :4], before[:, :4], atol=1e-6)
    assert not np.allclose(after[:, 4:], before[:, 4:])


def test_padding_of_the_memory_is_ignored():
    layer = decoder()
    x, memory = ops.array(vectors(1, 4, 8)), vectors(1, 6, 8, seed=1)
    expected = array(layer(x, ops.array(memory[:, :2])))
    mask = np.array([[1, 1, 0, 0, 0, 0]], bool)
    masked = array(layer(x, ops.array(memory), memory_mask=mask))
    np.testing.assert_allclose(masked, expected, atol=1e-5)


def test_keras_masks_of_both_sequences_are_honoured():
    embedding, encoder = SharedEmbedding(20, 8), Encoder(num_layers=1, **BLOCK)
    source, target = np.array([[4, 5, 0, 0]]), np.array([[0, 0, 6, 7]])  # padding on either side
    layer = decoder()
    padded = array(layer(embedding(target), encoder(embedding(source))))
    bare = array(layer(embedding(target[:, 2:]), encoder(embedding(source[:, :2]))))
    np.testing.assert_allclose(padded[:, 2:], bare, atol=1e-5)


def test_cached_decoding_of_several_hypotheses_equals_uncached():
    layer = decoder()
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


def test_weights_of_every_head_are_returned_by_name():
    layer = decoder()
    x, memory = ops.array(vectors(2, 4, 8)), ops.array(vectors(2, 5, 8, seed=1))
    _, weights = layer(x, memory, return_weights=True)
    assert sorted(weights) == [
        "0/cross_attention",
        "0/self_attention",
        "1/cross_attention",
        "1/self_attention",
    ]
    assert tuple(weights["1/cross_attention"].shape) == (2, 2, 4, 5)
    above_diagonal = np.triu_indices(4, 1)
    assert (array(weights["1/self_attention"])[:, :, *above_diagonal] == 0).all()
