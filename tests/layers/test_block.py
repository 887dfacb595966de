"""Blocks of one's own, in stacks and in the Transformer."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import TINY, array, pairs, tensors, tiny_model, vectors
from support.models.own_blocks import (
    GatedDecoderBlock,
    GatedEncoderBlock,
    ParallelDecoderBlock,
    ParallelEncoderBlock,
)

from t2t_keras import Transformer, TransformerConfig
from t2t_keras.layers import Decoder, DecoderBlock, Encoder, EncoderBlock
from t2t_keras.layers.decoder import BLOCKS

SIZES = {"d_model": 8, "d_ff": 12, "num_heads": 2}
ONE_LAYER = {**TINY, "num_layers": 1}


@pytest.fixture(autouse=True)
def own_blocks(monkeypatch):
    monkeypatch.setitem(BLOCKS, "gated", (GatedEncoderBlock, GatedDecoderBlock))
    monkeypatch.setitem(BLOCKS, "parallel", (ParallelEncoderBlock, ParallelDecoderBlock))


@pytest.mark.parametrize("block", ["gated", pytest.param("parallel", marks=pytest.mark.jax)])
def test_cached_decoding_equals_uncached(block):
    model, inputs = tiny_model(block=block, num_layers=1), tensors(pairs())
    expected = array(model(inputs))
    memory, cache = model.start_decoding(inputs["source"], max_length=4)
    cache = model.extend_cache(cache, 8)
    for position in range(6):
        logits, cache = model.decode_step(inputs["target"][:, position], position, cache, memory)
        np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)


@pytest.mark.long
def test_a_saved_model_has_the_same_blocks(tmp_path):
    model = tiny_model(block="parallel", num_layers=1)
    inputs = pairs()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array(loaded(inputs)), array(model(inputs)))
    assert type(loaded.decoder.blocks[0]) is ParallelDecoderBlock
    assert type(loaded.encoder.blocks[0]) is type(model.encoder.blocks[0])


@keras.saving.register_keras_serializable("own_blocks")
class Amplified(DecoderBlock):
    """A block with a setting that the paper's block does not have."""

    def __init__(self, *values, gain, **settings):
        super().__init__(*values, **settings)
        self.gain = gain

    def call(self, x, *others, **settings):
        return super().call(x * self.gain, *others, **settings)

    def get_config(self):
        return {**super().get_config(), "gain": self.gain}


def test_a_setting_of_ones_own_block_is_part_of_the_stack(tmp_path):
    options = {"activity_regularizer": "l2", "cross_attention": False, "gain": 3.0}
    decoder = Decoder(2, **SIZES, block_class=Amplified, **options)
    inputs = keras.Input((None, 8))
    model, x = keras.Model(inputs, decoder(inputs)), vectors(2, 3, 8)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array(loaded(x)), array(model(x)))
    stack = loaded.layers[-1]
    assert [block.gain for block in stack.blocks] == [3.0, 3.0]
    assert stack.get_config() == decoder.get_config()


@pytest.mark.parametrize(
    "block_class", [keras.layers.Dense, EncoderBlock(8, 8, 2)], ids=["layer", "block"]
)
def test_other_classes_are_refused(block_class):
    with pytest.raises(ValueError, match="`block_class` must be a class derived from"):
        Encoder(1, block_class=block_class, **SIZES)


def test_unknown_blocks_and_caches_without_keys_are_refused(monkeypatch):
    class Recurrent(DecoderBlock):
        def empty_cache(self, sentences, length, beams=1):
            return ops.zeros((sentences, beams))

    with pytest.raises(ValueError, match=r"`block` must be .*did you mean 'gated'"):
        TransformerConfig(block="gatde")
    monkeypatch.setitem(BLOCKS, "recurrent", (EncoderBlock, Recurrent))
    model = Transformer(TransformerConfig(**ONE_LAYER, block="recurrent"))
    memory, cache = model.start_decoding(ops.array(pairs()["source"]), 4)
    with pytest.raises(ValueError, match="must be KeysValues or a list of them"):
        model.decode_step(ops.array([1, 1, 1]), 0, cache, memory)


def test_options_of_a_block_are_a_setting_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setitem(BLOCKS, "amplified", (EncoderBlock, Amplified))
    model = tiny_model(block="amplified", block_options="gain=3", num_layers=2)
    model.save(tmp_path / "model.keras")
    for each in (model, keras.saving.load_model(tmp_path / "model.keras")):
        assert [block.gain for block in each.decoder.blocks] == [3, 3]
    for block, options, message in [
        ("transformer", "gain=3", "no option 'gain'. No option of 'transformer' is known"),
        ("amplified", "", "`block_options` must give the option 'gain', which has no default"),
        ("amplified", "gian=3", r"no option 'gian' \(did you mean 'gain'\?\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            TransformerConfig(block=block, block_options=options)
