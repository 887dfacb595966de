"""ConvS2S: gated convolutions, with attention in every decoder layer (Gehring et al. 2017).

README.md lists the differences from the paper. The main ones: weights are not normalized, and the
gradients of the encoder are not scaled.
"""

import dataclasses
from typing import Any, NamedTuple

import keras
from keras import ops

from pipelines.checks import check, setting
from t2t_keras.layers.positional_encoding import LearnedPositionalEncoding
from t2t_keras.rivals.gated_convolution import ROOT_HALF, GatedConvolution, scaled_linear
from t2t_keras.rivals.histories import beams_of_step, layer_steps
from t2t_keras.rivals.multi_step_attention import MultiStepAttention
from t2t_keras.rivals.rival_config import RivalConfig
from t2t_keras.sequence_model import SequenceModel, check_ids, check_inputs


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


class ConvS2SMemory(NamedTuple):
    """The encoded source sentences; constant during decoding."""

    keys: Any  # [sentences, source_length, d_model]
    values: Any  # [sentences, source_length, d_model]
    mask: Any  # [sentences, source_length]


@keras.saving.register_keras_serializable("t2t_keras")
class ConvS2S(SequenceModel):
    """Convolutional sequence to sequence learning (Gehring et al. 2017).

    For args and call arguments, see `SequenceModel`. `config` is a `ConvS2SConfig`.

    Example:

    >>> config = ConvS2SConfig(vocab_size=1000, source_vocab_size=None, d_model=64, units=64,
    ...                        num_layers=2, wide_layers=0, top_layers=0)
    >>> source = keras.ops.array([[5, 6, 7, 2, 0]])
    >>> target = keras.ops.array([[1, 8, 9]])
    >>> outputs = ConvS2S(config)({"source": source, "target": target})  # [1, 3, 1000]

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
        for layer in (
            self.dropout,
            self.source_positions,
            self.target_positions,
            self.encoder_input,
            self.decoder_input,
        ):
            layer.build(embedded)
        for stack, output in (
            (self.encoder, self.encoder_output),
            (self.decoder, self.decoder_output),
        ):
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
        return self.encoded(self.embed_source(source, training), source, training)

    def encoded(self, embedded, source, training=None):
        mask = self.source_mask(source)
        x = self.encoder_input(embedded)
        for layer in self.encoder:
            x = layer.joined(x, layer(x, mask=mask, training=training))
        return self.encoder_output(x)

    def embed_source(self, source, training=None):
        x = self.source_positions(self.source_embedding(source))
        return self.dropout(x, training=training)

    def embed_target(self, target, start=0, training=None):
        x = self.target_positions(self.embedding(target), start=start)
        return self.dropout(x, training=training)

    def remember(self, source, training=None):
        """Returns the `ConvS2SMemory` of source ids.

        The values are scaled by √m, because a mean over m tokens divides the variance by m.
        """
        mask = self.source_mask(source)
        embedded = self.embed_source(source, training)
        keys = self.encoded(embedded, source, training)
        tokens = ops.sum(ops.cast(mask, keys.dtype), axis=1)
        values = (keys + embedded) * ROOT_HALF * ops.sqrt(tokens)[:, None, None]
        return ConvS2SMemory(keys, values, mask)

    def decode(self, source, target, training=None):
        return self.decode_with_weights(source, target, training)[0]

    def decode_with_weights(self, source, target, training=None):
        memory = self.remember(source, training)
        embedded = self.embed_target(target, training=training)

        def convolve(i, x):
            return self.decoder[i](x, training=training)

        return self.stack(embedded, convolve, memory, training)

    def stack(self, embedded, convolve, memory, training=None):
        """Returns the decoder's outputs and each layer's attention weights.

        Args:
            embedded: embedded target, `[sentences, positions, d_model]`.
            convolve: function that applies the convolution of decoder layer i to its input.
            memory: a `ConvS2SMemory`.

        Returns:
            Outputs `[sentences, positions, d_model]`, and a list of weights `[sentences, positions,
            source_length]`.
        """
        x, all_weights = self.decoder_input(embedded), []
        for i, (layer, attention) in enumerate(zip(self.decoder, self.attention, strict=True)):
            y, weights = attention(convolve(i, x), embedded, *memory)
            x = layer.joined(x, y)
            all_weights.append(weights)
        return self.dropout(self.decoder_output(x), training=training), all_weights

    def attention_weights(self, inputs):
        """Returns `{"decoder/0/cross_attention": float32 [batch, 1, queries, keys], …}`."""
        _, weights = self.decode_with_weights(*check_inputs(inputs))
        return {f"decoder/{i}/cross_attention": each[:, None] for i, each in enumerate(weights)}

    def start_decoding(self, source, max_length, beams=1):
        """See `Transformer.start_decoding`. The cache contains each layer's earlier inputs."""
        self.check_room(max_length, beams)
        self.target_positions.check_length(max_length)
        check_ids("source", source)
        sentences = ops.shape(source)[0]
        caches = [layer.convolution.empty_cache(sentences, beams) for layer in self.decoder]
        return self.remember(source), caches

    def decode_step(self, tokens, position, cache, memory, visible=None):
        """See `Transformer.decode_step`."""
        beams = beams_of_step(tokens, cache[0][0], visible)
        position = ops.cast(position, "int32")
        convolve, caches = layer_steps(self.decoder, position, cache, beams, visible)
        embedded = self.embed_target(tokens[:, None], start=position)
        embedded = ops.reshape(embedded, (-1, beams, self.config.d_model))
        x, _ = self.stack(embedded, convolve, memory)
        return self.output_embedding.project(ops.reshape(x, (-1, self.config.d_model))), caches
