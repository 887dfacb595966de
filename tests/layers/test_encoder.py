import numpy as np
import pytest
from keras import ops
from support.models.helpers import array, check_layer, vectors

from t2t_keras.layers import Decoder, Encoder, EncoderBlock

BLOCK = {"d_model": 8, "d_ff": 16, "num_heads": 2}


@pytest.mark.jax
def test_contract_of_a_stack(tmp_path):
    settings = {"num_layers": 1, **BLOCK, "causal": True, "d_k": 3, "activation": "gelu"}
    check_layer(Encoder, settings, [vectors(2, 4, 8)], 12, tmp_path)


def test_a_causal_encoder_is_a_decoder_without_memory():
    x = vectors(2, 4, 8)
    encoder = Encoder(num_layers=2, **BLOCK, causal=True)
    decoder = Decoder(num_layers=2, **BLOCK, cross_attention=False)
    for stack in (encoder, decoder):
        stack.build((None, None, 8))
    names = [[w.path.partition("/")[2] for w in stack.weights] for stack in (encoder, decoder)]
    assert names[0] == names[1]
    decoder.set_weights(encoder.get_weights())
    np.testing.assert_array_equal(array(decoder(x)), array(encoder(x)))
    changed = x.copy()
    changed[:, 2:] = 7
    np.testing.assert_allclose(array(encoder(changed))[:, :2], array(encoder(x))[:, :2], atol=1e-6)
    local = EncoderBlock(**BLOCK, causal=True, neighbourhood=2)
    changed = x.copy()
    changed[:, 0] = 7
    np.testing.assert_allclose(array(local(changed))[:, 2:], array(local(x))[:, 2:], atol=1e-6)


def test_only_a_pre_norm_stack_adds_a_final_norm():
    x = ops.array(vectors(2, 4, 8))
    for pre_norm, weights in ((False, 24), (True, 26)):
        encoder = Encoder(num_layers=2, **BLOCK, pre_norm=pre_norm)
        outputs = array(encoder(x))
        assert len(encoder.weights) == weights
        np.testing.assert_allclose(outputs.mean(-1), 0, atol=1e-5)
        np.testing.assert_allclose(outputs.std(-1), 1, atol=1e-3)


def test_padding_is_ignored():
    encoder = Encoder(num_layers=2, **BLOCK)
    x, mask = vectors(1, 6, 8), np.array([[1, 1, 1, 0, 0, 0]], bool)
    masked, weights = encoder(ops.array(x), mask=mask, return_weights=True)
    np.testing.assert_allclose(array(masked)[:, :3], array(encoder(ops.array(x[:, :3]))), atol=1e-5)
    assert sorted(weights) == ["0/self_attention", "1/self_attention"]
    for heads in weights.values():
        assert tuple(heads.shape) == (1, 2, 6, 6) and not array(heads)[..., 3:].any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_fff": 3}, "d_fff"),
        ({"attention_dropout": 1.5}, "`dropout` must be .*=1.5"),
        ({"num_layers": 0}, "`num_layers` must be .* Received: num_layers=0"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Encoder(**{"num_layers": 1, **BLOCK, **settings})
    with pytest.raises(ValueError, match=r"`x` must have the shape \[batch, length, 8\]"):
        EncoderBlock(**BLOCK)(ops.array(vectors(2, 4, 6)))
