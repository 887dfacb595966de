"""Blocks of one's own, in stacks and in the Transformer."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import (
    TINY,
    array,
    compiled,
    disturbed,
    pairs,
    tensors,
    tiny_model,
    vectors,
)
from support.models.own_blocks import (
    GatedDecoderBlock,
    GatedEncoderBlock,
    GatedFeedForward,
    ParallelDecoderBlock,
    ParallelEncoderBlock,
)

from t2t_keras import LabelSmoothedCrossEntropy, Transformer, TransformerConfig
from t2t_keras.decoding.alignment import all_attention
from t2t_keras.layers import Block, Decoder, DecoderBlock, Encoder, EncoderBlock
from t2t_keras.layers.block import BLOCKS
from t2t_keras.parameters import grouped_counts, parameter_counts, training_operations
from t2t_keras.training.step.trainable_models import TrainableTransformer

OWN = {
    "gated": (GatedEncoderBlock, GatedDecoderBlock),
    "parallel": (ParallelEncoderBlock, ParallelDecoderBlock),
}


@pytest.fixture(autouse=True)
def own_blocks(monkeypatch):
    for name, classes in OWN.items():
        monkeypatch.setitem(BLOCKS, name, classes)


@pytest.mark.jax
@pytest.mark.parametrize("block", OWN)
def test_cached_decoding_equals_uncached(block):
    model, inputs = tiny_model(block=block, num_layers=1), tensors(pairs())
    expected = array(model(inputs))
    memory, cache = model.start_decoding(inputs["source"], max_length=4)
    cache = model.extend_cache(cache, 8)
    for position in range(6):
        logits, cache = model.decode_step(inputs["target"][:, position], position, cache, memory)
        np.testing.assert_allclose(array(logits), expected[:, position], rtol=0, atol=1e-5)


@pytest.mark.long
def test_logits_under_xla_are_the_same():
    model, inputs = tiny_model(block="parallel", positions="alibi"), tensors(pairs())
    np.testing.assert_allclose(array(compiled(model)(inputs)), array(model(inputs)), atol=1e-5)


@pytest.mark.parametrize("given", ["name", "classes"])
def test_a_saved_model_has_the_same_blocks(given, tmp_path):
    if given == "name":
        model = tiny_model(block="parallel", num_layers=1)
        assert not {"encoder_block", "decoder_block"} & model.get_config().keys()
    else:
        settings = TransformerConfig(**{**TINY, "num_layers": 1})
        model = disturbed(Transformer(settings, decoder_block=ParallelDecoderBlock))
        assert model.get_config()["decoder_block"] == "own_blocks>ParallelDecoderBlock"
        assert "encoder_block" not in model.get_config()
    inputs = pairs()
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(array(loaded(inputs)), array(model(inputs)))
    assert type(loaded.decoder.blocks[0]) is ParallelDecoderBlock
    assert type(loaded.encoder.blocks[0]) is type(model.encoder.blocks[0])


def test_the_names_of_the_papers_blocks_are_not_saved():
    model = tiny_model(num_layers=1)
    assert "encoder_block" not in model.get_config()
    assert "block_class" not in model.encoder.get_config()


def test_a_stack_takes_a_class_and_serializes_its_name():
    settings = {"num_layers": 1, "d_model": 8, "d_ff": 12, "num_heads": 2}
    encoder = Encoder(**settings, block_class=GatedEncoderBlock)
    x = ops.array(vectors(2, 3, 8))
    outputs = encoder(x)
    twin = Encoder.from_config(encoder.get_config())
    twin(x)
    twin.set_weights(encoder.get_weights())
    np.testing.assert_array_equal(array(twin(x)), array(outputs))
    assert type(twin.blocks[0].feed_forward.sublayer) is GatedFeedForward
    with pytest.raises(ValueError, match=r"class that is registered .*block_class='mine>Gone'"):
        Encoder(**settings, block_class="mine>Gone")


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
    decoder = Decoder(2, d_model=8, d_ff=12, num_heads=2, block_class=Amplified, **options)
    inputs = keras.Input((None, 8))
    model, x = keras.Model(inputs, decoder(inputs)), vectors(2, 3, 8)
    model.save(tmp_path / "model.keras")
    twin = keras.models.clone_model(model)
    twin.set_weights(model.get_weights())
    for each in (twin, keras.saving.load_model(tmp_path / "model.keras")):
        np.testing.assert_array_equal(array(each(x)), array(model(x)))
        stack = each.layers[-1]
        assert [block.gain for block in stack.blocks] == [3.0, 3.0]
        assert stack.get_config() == decoder.get_config()


def test_weights_and_attention_are_counted_and_shown():
    config = TransformerConfig(**TINY, block="parallel")
    counts = parameter_counts(config)
    assert counts["decoder/block_0/scale"] == 1
    assert grouped_counts(counts)["decoder second"] > 0
    plain = TransformerConfig(**TINY)
    more = training_operations(config, 1, 8) - training_operations(plain, 1, 8)
    assert more == 6 * 8 * 2 * 4 * 16**2  # the projections of both layers' second attention
    model, inputs = tiny_model(block="parallel"), pairs()
    found = all_attention(model, ops.array(inputs["source"]), ops.array(inputs["target"]))
    assert {name: each.shape[1:3] for name, each in found.items()} == {
        "encoder": (2, 2),
        "decoder": (2, 2),
        "cross": (2, 2),
    }


def test_the_loss_in_chunks_trains_it():
    settings = TransformerConfig(**{**TINY, "num_layers": 1}, block="gated", dropout=0.0)
    model = TrainableTransformer(settings)
    model.compile("sgd", LabelSmoothedCrossEntropy(), run_eagerly=True)
    inputs, labels = pairs(), pairs(seed=7)["target"]
    expected = float(model.loss(labels, model(inputs)))
    assert float(model.train_on_batch(inputs, labels)) == pytest.approx(expected, rel=1e-5)
    assert float(model.loss(labels, model(inputs))) < expected


class OnlyAttention(Block):
    def build(self, x_shape, memory_shape=None):
        pass

    def call(self, x, memory=None, x_mask=None, memory_mask=None, return_weights=False):
        return x


class WithoutWeights(OnlyAttention):
    def call(self, x):
        return x


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Decoder(1, block_class=OnlyAttention, d_model=8, d_ff=8, num_heads=2),
            "A block of a Decoder must define build, call, decode_step, empty_cache, "
            "extend_cache, keys_and_values, as DecoderBlock does. Received: OnlyAttention without "
            "decode_step, empty_cache, extend_cache, keys_and_values",
        ),
        (
            lambda: Encoder(1, block_class=WithoutWeights, d_model=8, d_ff=8, num_heads=2),
            r"Received: WithoutWeights without call\(mask, return_weights\)",
        ),
        (
            lambda: Encoder(1, block_class=Block, d_model=8, d_ff=8, num_heads=2),
            r"Received: Block without build, call",
        ),
        (
            lambda: Encoder(1, block_class=keras.layers.Dense, d_model=8, d_ff=8, num_heads=2),
            "`block_class` must be a class derived from t2t_keras.layers.Block",
        ),
        (
            lambda: Encoder(1, block_class=EncoderBlock(8, 8, 2), d_model=8, d_ff=8, num_heads=2),
            "`block_class` must be a class",
        ),
        (
            lambda: Transformer(TransformerConfig(**TINY), decoder_block=EncoderBlock),
            "EncoderBlock without call.*decode_step",
        ),
        (lambda: TransformerConfig(block="gatde"), "`block` must be .*did you mean 'gated'"),
    ],
)
def test_what_a_block_lacks_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_cache_without_keys_and_values_is_refused(monkeypatch):
    class Recurrent(DecoderBlock):
        def empty_cache(self, sentences, length, beams=1):
            return ops.zeros((sentences, beams))

    model = Transformer(TransformerConfig(**TINY), decoder_block=Recurrent)
    memory, cache = model.start_decoding(ops.array(pairs()["source"]), 4)
    with pytest.raises(ValueError, match="must be KeysValues or a list of them"):
        model.decode_step(ops.array([1, 1, 1]), 0, cache, memory)
