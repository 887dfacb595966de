"""ByteNet: dilated convolutions without attention, with the decoder stacked on the encoder.

README.md lists the differences from Kalchbrenner et al. 2016. The main one is sub-words instead of
characters.
"""

import dataclasses
from fractions import Fraction

import keras
from keras import ops

from pipelines.checks import check, setting
from t2t_keras.decoding_cache import extended
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.layer_norm import LayerNorm
from t2t_keras.rivals.convolution import Convolution
from t2t_keras.rivals.rival import Rival, RivalConfig
from t2t_keras.sequence_model import check_ids


@dataclasses.dataclass
class ByteNetConfig(RivalConfig):
    """The settings of `ByteNet`. The defaults are the paper's translation model (§5).

    Vocabulary and dropout are the same as in the other models; the paper translates characters.
    `unfold_ratio` is a of §3.2: a source of n tokens is unfolded to a · n positions, rounded up.

    Args:
        d_model: width of the embeddings and between blocks, the paper's 2d.
        units: width of the convolutions, the paper's d.
        kernel: number of vectors in the window of a convolution.
        max_dilation: largest dilation, a power of 2. Dilations double from layer to layer up to
            this value, then start from 1 again (§3.6).
        unfold_ratio: number of positions of the encoder per source token.
    """

    num_layers: int = setting(30, at_least=1)
    d_model: int = setting(1600, at_least=1)
    units: int = setting(800, at_least=1)
    kernel: int = setting(3, at_least=2)
    max_dilation: int = setting(16, at_least=1)
    unfold_ratio: float = setting(1.2, at_least=1)

    widths = ("d_model", "units")

    def validate(self):
        super().validate()
        power = self.max_dilation & (self.max_dilation - 1) == 0
        check(power, "max_dilation", self.max_dilation, "a power of 2")

    def use_of(self, path):
        """Returns the number of positions per token: `unfold_ratio` in the encoder, else 1."""
        return self.unfold_ratio if path.startswith("encoder") else 1

    def dilation(self, layer):
        return 2 ** (layer % self.max_dilation.bit_length())

    def unfolded(self, length):
        """Returns the number of encoder positions for a source length (int or integer tensor)."""
        ratio = Fraction(self.unfold_ratio).limit_denominator(1000)
        return -(-length * ratio.numerator // ratio.denominator)


class DilatedBlock(OutputShapes, keras.layers.Layer):
    """x + widen(ReLU(convolve(ReLU(narrow(ReLU(x)))))), with a layer norm before each ReLU.

    It maps `[batch, length, width]` to the same shape (§3.6, §3.7). `dropout` is the rate on the
    output, before it is added to x. For the other arguments, see `Convolution`.
    """

    def __init__(self, units, kernel, dilation, causal=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        dtype = self.dtype_policy
        self.norms = [LayerNorm(epsilon=1e-6, dtype=dtype, name=f"norm_{i}") for i in range(3)]
        self.narrow = keras.layers.Dense(units, dtype=dtype, name="narrow")
        self.convolution = Convolution(
            units, kernel, dilation, causal, dtype=dtype, name="convolution"
        )
        self.dropout = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")

    def build(self, x_shape, mask_shape=None):
        inside = (*x_shape[:-1], self.units)
        for norm, shape in zip(self.norms, (x_shape, inside, inside), strict=True):
            norm.build(shape)
        self.narrow.build(x_shape)
        self.convolution.build(inside)
        self.history = self.convolution.history
        self.widen = keras.layers.Dense(x_shape[-1], dtype=self.dtype_policy, name="widen")
        self.widen.build(inside)
        self.dropout.build(x_shape)

    def call(self, x, mask=None, training=None, step=None):
        def activated(norm, y):
            return ops.relu(self.norms[norm](y, training=training))

        y = self.narrow(activated(0, x))
        y = self.convolution(activated(1, y), mask=mask, step=step)
        y = self.widen(activated(2, y))
        return x + self.dropout(y, training=training)


@keras.saving.register_keras_serializable("t2t_keras")
class ByteNet(Rival):
    """Translation in linear time (Kalchbrenner et al. 2016).

    The encoder's vector at position i is added to the target embedding at position i before the
    first decoder block. Beyond the end of the unfolded source, nothing is added.

    For args and call arguments, see `Transformer`. `config` is a `ByteNetConfig`.

    References:
        Kalchbrenner et al. 2016 (arXiv 1610.10099).
    """

    config_class = ByteNetConfig

    def __init__(self, config=None, **kwargs):
        super().__init__(config, **kwargs)
        config, dtype = self.config, self.dtype_policy

        def blocks(stack, layers, causal):
            return [
                DilatedBlock(
                    *(config.units, config.kernel, config.dilation(i), causal, config.dropout),
                    dtype=dtype,
                    name=f"{stack}_{i}",
                )
                for i in range(layers)
            ]

        self.dropout = keras.layers.Dropout(config.dropout, dtype=dtype, name="dropout")
        self.encoder = blocks("encoder", config.num_layers, causal=False)
        self.decoder = blocks("decoder", config.decoder_layers, causal=True)
        self.output_layer = keras.layers.Dense(config.d_model, dtype=dtype, name="output")
        self.output_norm = LayerNorm(epsilon=1e-6, dtype=dtype, name="output_norm")
        self.create_weights()

    def build_layers(self):
        vectors = (None, None, self.config.d_model)
        ends = self.dropout, self.output_layer, self.output_norm
        for layer in (*self.encoder, *self.decoder, *ends):
            layer.build(vectors)

    def encode(self, source, training=None):
        """Encodes source ids `[batch, length]` as vectors `[batch, unfolded_length, d_model]`."""
        check_ids("source", source)
        positions = self.config.unfolded(ops.shape(source)[1])
        mask = ops.arange(positions, dtype="int32")[None] < self.unfolded_lengths(source)[:, None]
        x = self.source_embedding(extended(source, 1, positions))
        x = self.dropout(x, training=training)
        for block in self.encoder:
            x = block(x, mask=mask, training=training)
        return x

    def unfolded_lengths(self, source):
        return self.config.unfolded(ops.sum(ops.cast(self.source_mask(source), "int32"), axis=1))

    def remember(self, source, training=None):
        """Returns the encoded source, and the number of its positions in each sentence."""
        return self.encode(source, training), self.unfolded_lengths(source)

    def decode_with_weights(self, source, target, training=None):
        x = self.embed(target, training=training)  # its dropout is drawn before the source's
        return self.stack(x, self.remember(source, training), training=training)

    def stack(self, x, memory, mask=None, training=None, step=None):
        """See `Rival`. There is no attention."""
        encoded, lengths = memory
        positions = ops.arange(ops.shape(x)[1], dtype="int32")
        positions = positions if step is None else step.position[None]
        last = ops.shape(encoded)[1] - 1
        vectors = ops.take(encoded, ops.minimum(positions, last), axis=1)
        exist = positions[None] < lengths[:, None]
        x = x + ops.where(exist[..., None], vectors, ops.zeros_like(vectors))
        for block in self.decoder:
            x = block(x, training=training, step=step)
        return ops.relu(self.output_norm(self.output_layer(x), training=training)), []
