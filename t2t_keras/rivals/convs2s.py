"""ConvS2S: gated convolutions, with attention in every decoder layer (Gehring et al. 2017).

README.md lists the differences from the paper. The main ones: weights are not normalized, and the
gradients of the encoder are not scaled.
"""

import dataclasses

import keras
from keras import ops

from pipelines.checks import check, setting
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.positional_encoding import LearnedPositionalEncoding
from t2t_keras.layers.scaled_dot_product import weighted_values
from t2t_keras.rivals.convolution import Convolution, scaled_linear
from t2t_keras.rivals.rival import Rival, RivalConfig
from t2t_keras.sequence_model import check_ids

ROOT_HALF = 0.5**0.5  # factor that preserves the variance of a sum of two terms


@dataclasses.dataclass
class ConvS2SConfig(RivalConfig):
    """The settings of `ConvS2S`. The defaults are the paper's for English–German (§5.1).

    In encoder and decoder, the last layers are the top layers, and the layers below them are the
    wide layers. All other layers have `units` and `kernel`. The vocabulary size of 40,000 is from
    §4.1, the width of the embeddings from §4.2, the dropout rate from the authors' training
    command for English–German, and the maximum length from their code.

    Args:
        units: width of the layers.
        kernel: number of vectors in the window of a layer.
        wide_layers: number of layers with `wide_units`, below the top layers.
        wide_units: width of the wide layers.
        top_layers: number of layers with `top_units` and a kernel of 1, the last ones.
        top_units: width of the top layers.
        max_length: number of learned positions, which is the maximum length of a sequence.
    """

    vocab_size: int = setting(40000, at_least=4)
    num_layers: int = setting(15, at_least=1)
    dropout: float = setting(0.2, at_least=0, below=1)
    source_vocab_size: int | None = setting(40000, at_least=4)
    tie_output: bool = False
    units: int = setting(512, at_least=1)
    kernel: int = setting(3, at_least=2)
    wide_layers: int = setting(3, at_least=0)
    wide_units: int = setting(768, at_least=1)
    top_layers: int = setting(2, at_least=0)
    top_units: int = setting(2048, at_least=1)
    max_length: int = setting(1024, at_least=1)

    output_bias = True
    widths = ("d_model", "units", "wide_units", "top_units")

    def validate(self):
        super().validate()
        fewest = min(self.layers)
        allowed = f"below {fewest}, the number of layers of the encoder or the decoder"
        check(self.top_layers < fewest, "top_layers", self.top_layers, allowed)
        rest = fewest - self.top_layers
        allowed = f"at most {rest}, the number of layers without the top layers"
        check(self.wide_layers <= rest, "wide_layers", self.wide_layers, allowed)

    @property
    def longest(self):
        return self.max_length

    @property
    def attention_layers(self):
        return 0, 0, self.layers[1]

    def attention_products(self, length):
        return 2 * self.d_model * self.layers[1] * length

    def shapes(self, layers):
        """Returns (units, kernel) for each layer of a stack."""
        top, wide = [(self.top_units, 1)], [(self.wide_units, self.kernel)]
        others = [(self.units, self.kernel)] * (layers - self.wide_layers - self.top_layers)
        return others + wide * self.wide_layers + top * self.top_layers

    def divided(self, widths=1, layers=1):
        """See `RivalConfig.divided`. The numbers of wide and top layers are rounded."""
        plain = dataclasses.replace(self, wide_layers=0, top_layers=0)
        divided = super(ConvS2SConfig, plain).divided(widths, layers)
        wide, top = round(self.wide_layers / layers), round(self.top_layers / layers)
        return dataclasses.replace(divided, wide_layers=wide, top_layers=top)


class GatedConvolution(OutputShapes, keras.layers.Layer):
    """A · σ(B), where a convolution computes A and B.

    It maps `[batch, length, width]` to `[batch, length, units]`; `dropout` is the rate on x. The
    residual connection is a separate method, `joined`, because a decoder layer applies attention
    between the two. Gehring et al. 2017, §3.2, §3.4, §3.5; Dauphin et al. 2017 (arXiv 1612.08083).
    """

    def __init__(self, units, kernel, causal=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        dtype = self.dtype_policy
        self.dropout = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")
        # The gate is initially ½, which divides the variance by 4. Dropout divides it by 1 − rate.
        gain = 4 * (1 - dropout)
        self.convolution = Convolution(
            2 * units, kernel, causal=causal, gain=gain, dtype=dtype, name="convolution"
        )
        self.shortcut = None

    def build(self, x_shape, mask_shape=None):
        self.dropout.build(x_shape)
        self.convolution.build(x_shape)
        self.history = self.convolution.history
        if x_shape[-1] != self.units:
            self.shortcut = scaled_linear(self.units, dtype=self.dtype_policy, name="shortcut")
            self.shortcut.build(x_shape)

    def output_shape_of(self, shape):
        return (*shape[:-1], self.units)

    def call(self, x, mask=None, training=None, step=None):
        both = self.convolution(self.dropout(x, training=training), mask=mask, step=step)
        values, gates = ops.split(both, 2, axis=-1)
        return values * ops.sigmoid(gates)

    def joined(self, x, y):
        """Returns the scaled sum of x, the layer's input, and y."""
        return (y + (x if self.shortcut is None else self.shortcut(x))) * ROOT_HALF


class MultiStepAttention(OutputShapes, keras.layers.Layer):
    """Dot-product attention whose contexts are added to x (§3.3).

    Call arguments:
        x: outputs of a decoder convolution, `[batch, queries, units]`.
        embedded: embedded target, `[batch, queries, d_model]`. It is added to the queries.
        keys: `[batch, length, d_model]`.
        values: `[batch, length, d_model]`.
        mask: boolean `[batch, length]`, True at real tokens.

    Returns:
        Outputs `[batch, queries, units]` and weights `[batch, queries, length]`.
    """

    def __init__(self, d_model, **kwargs):
        super().__init__(**kwargs)
        self.d_model = d_model
        self.query = scaled_linear(d_model, dtype=self.dtype_policy, name="query")

    def build(self, x_shape):
        self.query.build(x_shape)
        self.output_layer = scaled_linear(x_shape[-1], dtype=self.dtype_policy, name="output")
        self.output_layer.build((None, None, self.d_model))

    def call(self, x, embedded, keys, values, mask):
        queries = (self.query(x) + embedded) * ROOT_HALF
        scores = ops.matmul(queries, ops.transpose(keys, (0, 2, 1)))
        contexts, weights = weighted_values(scores, values, mask[:, None])
        return (x + self.output_layer(contexts)) * ROOT_HALF, weights


@keras.saving.register_keras_serializable("t2t_keras")
class ConvS2S(Rival):
    """Convolutional sequence to sequence learning (Gehring et al. 2017).

    For args and call arguments, see `Transformer`. `config` is a `ConvS2SConfig`.

    References:
        Gehring et al. 2017 (arXiv 1705.03122).
    """

    config_class = ConvS2SConfig

    def __init__(self, config=None, **kwargs):
        super().__init__(config, **kwargs)
        config, dtype = self.config, self.dtype_policy
        self.dropout = keras.layers.Dropout(config.dropout, dtype=dtype, name="dropout")

        def positions(name):
            return LearnedPositionalEncoding(config.max_length, dtype=dtype, name=name)

        def linear(units, name):
            return scaled_linear(units, dtype=dtype, name=name)

        def convolutions(stack, layers, causal):
            return [
                GatedConvolution(
                    *shape, causal, config.dropout, dtype=dtype, name=f"{stack}_{i}_convolution"
                )
                for i, shape in enumerate(config.shapes(layers))
            ]

        self.source_positions = positions("source_positions")
        self.target_positions = positions("target_positions")
        self.encoder_input = linear(config.units, "encoder_input")
        self.encoder = convolutions("encoder", config.num_layers, causal=False)
        self.encoder_output = linear(config.d_model, "encoder_output")
        self.decoder_input = linear(config.units, "decoder_input")
        self.decoder = convolutions("decoder", config.decoder_layers, causal=True)
        self.attention = [
            MultiStepAttention(config.d_model, dtype=dtype, name=f"decoder_{i}_attention")
            for i in range(config.decoder_layers)
        ]
        self.decoder_output = linear(config.d_model, "decoder_output")
        self.create_weights()

    @property
    def embedding_options(self):
        # The matrix initially has a standard deviation of d_model^-½. The scale gives the vectors
        # a standard deviation of 0.1 (§3.5).
        return {"scale": 0.1 * self.config.d_model**0.5}

    def build_layers(self):
        embedded = (None, None, self.config.d_model)
        inputs = self.encoder_input, self.decoder_input
        for layer in (self.dropout, self.source_positions, self.target_positions, *inputs):
            layer.build(embedded)
        stacks = (self.encoder, self.encoder_output), (self.decoder, self.decoder_output)
        for stack, output in stacks:
            width = self.config.units
            for layer in stack:
                layer.build((None, None, width))
                width = layer.units
            output.build((None, None, width))
        for convolution, attention in zip(self.decoder, self.attention, strict=True):
            attention.build((None, None, convolution.units))

    def encode(self, source, training=None):
        """Encodes source ids `[batch, length]` as vectors `[batch, length, d_model]`."""
        check_ids("source", source)
        return self.remember(source, training)[0]

    def embed(self, target, start=0, training=None):
        x = self.target_positions(self.embedding(target), start=start)
        return self.dropout(x, training=training)

    def remember(self, source, training=None):
        """Returns keys and values `[sentences, source_length, d_model]`, and their mask.

        The values are scaled by √m, because a mean over m tokens divides the variance by m.
        """
        mask = self.source_mask(source)
        x = self.source_positions(self.source_embedding(source))
        embedded = self.dropout(x, training=training)
        x = self.encoder_input(embedded)
        for layer in self.encoder:
            x = layer.joined(x, layer(x, mask=mask, training=training))
        keys = self.encoder_output(x)
        tokens = ops.sum(ops.cast(mask, keys.dtype), axis=1)
        values = (keys + embedded) * ROOT_HALF * ops.sqrt(tokens)[:, None, None]
        return keys, values, mask

    def stack(self, x, memory, mask=None, training=None, step=None):
        embedded, x, all_weights = x, self.decoder_input(x), []
        for layer, attention in zip(self.decoder, self.attention, strict=True):
            y = layer(x, training=training, step=step)
            y, weights = attention(y, embedded, *memory)
            x = layer.joined(x, y)
            all_weights.append(weights)
        return self.dropout(self.decoder_output(x), training=training), all_weights

    def start_decoding(self, source, max_length, beams=1):
        self.target_positions.check_length(max_length)
        return super().start_decoding(source, max_length, beams)
