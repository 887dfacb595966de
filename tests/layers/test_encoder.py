import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, vectors

from t2t_keras.layers import Decoder, Encoder, EncoderBlock

BLOCK = {"d_model": 8, "d_ff": 16, "num_heads": 2}


@pytest.mark.jax
def test_contract_of_block_and_stack(tmp_path):
    inputs = [vectors(2, 4, 8)]
    check_layer(EncoderBlock, BLOCK, inputs, 4 + 2 + 4 + 2, tmp_path)
    check_layer(Encoder, {"num_layers": 2, **BLOCK}, inputs, 2 * 12, tmp_path)


def test_a_causal_encoder_is_a_decoder_without_memory():
    inputs = [vectors(2, 4, 8)]
    encoder = Encoder(num_layers=2, **BLOCK, causal=True)
    encoder.build((None, None, 8))
    decoder = Decoder(num_layers=2, **BLOCK, cross_attention=False)
    decoder.build((None, None, 8))
    assert [w.path.partition("/")[2] for w in decoder.weights] == [
        w.path.partition("/")[2] for w in encoder.weights
    ]
    decoder.set_weights(encoder.get_weights())
    np.testing.assert_array_equal(array(decoder(*inputs)), array(encoder(*inputs)))
    changed = inputs[0].copy()
    changed[:, 2:] = 7
    np.testing.assert_allclose(
        array(encoder(changed))[:, :2], array(encoder(*inputs))[:, :2], atol=1e-6
    )
    local = EncoderBlock(**BLOCK, causal=True, neighbourhood=2)
    changed = inputs[0].copy()
    changed[:, 0] = 7
    np.testing.assert_allclose(
        array(local(changed))[:, 2:], array(local(*inputs))[:, 2:], atol=1e-6
    )


def test_only_a_pre_norm_stack_adds_a_final_norm():
    x = ops.array(vectors(2, 4, 8))
    for pre_norm, weights in ((False, 24), (True, 26)):
        encoder = Encoder(num_layers=2, **BLOCK, pre_norm=pre_norm)
        outputs = array(encoder(x))
        assert len(encoder.weights) == weights
        np.testing.assert_allclose(outputs.mean(-1), 0, atol=1e-5)
        np.testing.assert_allclose(outputs.std(-1), 1, atol=1e-3)


def test_settings_reach_every_block():
    encoder = Encoder(num_layers=2, **BLOCK, d_k=3, d_v=5, attention_bias=True, activation="gelu")
    encoder.build((None, None, 8))
    for block in encoder.blocks:
        attention = block.self_attention.sublayer
        assert (attention.d_k, attention.d_v, attention.use_bias) == (3, 5, True)
        assert block.feed_forward.sublayer.activation == "gelu"
    assert len(encoder.weights) == 2 * 16


def test_padding_is_ignored():
    encoder = Encoder(num_layers=2, **BLOCK)
    x, mask = vectors(1, 6, 8), np.array([[1, 1, 1, 0, 0, 0]], bool)
    other = x.copy()
    other[:, 3:] = 7
    expected = array(encoder(ops.array(x[:, :3])))
    for padded in (x, other):
        masked = array(encoder(ops.array(padded), mask=mask))[:, :3]
        np.testing.assert_allclose(masked, expected, atol=1e-5)


def test_weights_of_every_head_are_returned_by_name():
    encoder = Encoder(num_layers=2, **BLOCK)
    x = ops.array(vectors(2, 4, 8))
    outputs, weights = encoder(x, return_weights=True)
    assert sorted(weights) == ["0/self_attention", "1/self_attention"]
    for heads in weights.values():
        assert tuple(heads.shape) == (2, 2, 4, 4)
        np.testing.assert_allclose(array(heads).sum(-1), 1, atol=1e-5)
    np.testing.assert_array_equal(array(outputs), array(encoder(x)))


def test_a_block_has_its_settings_and_takes_arguments_of_any_layer():
    block = EncoderBlock(**BLOCK, dropout=0.25, autocast=False, name="mine")
    assert (block.d_model, block.num_heads, block.dropout) == (8, BLOCK["num_heads"], 0.25)
    assert (block.autocast, block.name) == (False, "mine")
    assert not hasattr(block, "d_modle")


def test_wrong_settings_are_refused():
    with pytest.raises((TypeError, ValueError), match="d_fff"):
        Encoder(num_layers=1, **BLOCK, d_fff=3)
    with pytest.raises(ValueError, match=r"`attention_dropout` must be .*=1.5"):
        Encoder(num_layers=1, **BLOCK, attention_dropout=1.5)
    with pytest.raises(ValueError, match=r"`attention_bias` must be"):
        EncoderBlock(**BLOCK, attention_bias="yes")
    with pytest.raises(ValueError, match=r"`x` must have the shape \[batch, length, 8\]"):
        EncoderBlock(**BLOCK)(ops.array(vectors(2, 4, 6)))
    with pytest.raises(ValueError, match=r"`causal` must be True or False. Received: causal=1"):
        Encoder(num_layers=1, **BLOCK, causal=1)
    with pytest.raises(ValueError, match=r"`num_layers` must be .* Received: num_layers=0"):
        Encoder(num_layers=0, **BLOCK)
