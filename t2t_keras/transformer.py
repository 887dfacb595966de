"""The Transformer: encoder and decoder around one shared matrix (§3), as a Keras model."""

import dataclasses
from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.checks import (
    check,
    check_boolean,
    check_choice,
    check_integer,
    check_positive,
    check_rate,
)
from t2t_keras.layers.attention import head_widths
from t2t_keras.layers.decoder import Decoder
from t2t_keras.layers.encoder import Encoder
from t2t_keras.layers.feed_forward import ACTIVATIONS
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
    check_sinusoid_width,
)
from t2t_keras.layers.shared_embedding import SharedEmbedding

POSITIONS = ("sinusoidal", "learned", "concatenated")


@dataclasses.dataclass
class TransformerConfig:
    """The settings of a model, named after the paper; the defaults are its base model.

    The first group is what the paper varies. The second is for reading the weights of other
    systems, and each of its defaults is the paper's.
    """

    vocab_size: int = 37000
    num_layers: int = 6
    d_model: int = 512
    d_ff: int = 2048
    num_heads: int = 8
    d_k: int | None = None  # None: d_model / num_heads
    d_v: int | None = None  # None: d_model / num_heads
    dropout: float = 0.1
    attention_dropout: float = 0.0  # on the attention weights; the paper uses it in parsing
    positions: str = "sinusoidal"  # "learned", or "concatenated" as in tensor2tensor
    max_length: int = 1024  # rows of the table of learned positions

    source_vocab_size: int | None = None  # None: one matrix; a number: the source has its own
    activation: str = "relu"  # "gelu", "swish"
    attention_bias: bool = False
    output_bias: bool = False
    position_offset: int = 0
    pre_norm: bool = False
    norm_epsilon: float = 1e-6

    def __post_init__(self):
        self.validate()

    def validate(self):
        """Raises `ValueError` for the first setting that is wrong, alone or with another."""
        # Four ids have a meaning of their own: padding, begin, end, unknown.
        check_integer("vocab_size", self.vocab_size, at_least=4)
        if self.source_vocab_size is not None:
            check_integer("source_vocab_size", self.source_vocab_size, at_least=4)
        check_integer("num_layers", self.num_layers)
        check_integer("d_ff", self.d_ff)
        check_integer("d_model", self.d_model)
        check_choice("positions", self.positions, POSITIONS)
        if self.positions != "learned":
            check_sinusoid_width(self.d_model, interleaved=self.positions == "sinusoidal")
        head_widths(self.d_model, self.num_heads, self.d_k, self.d_v)
        check_rate("dropout", self.dropout)
        check_rate("attention_dropout", self.attention_dropout)
        check_integer("max_length", self.max_length)
        check_integer("position_offset", self.position_offset, at_least=0)
        if self.positions == "learned":
            allowed = f"below max_length={self.max_length} with learned positions"
            check(
                self.position_offset < self.max_length,
                "position_offset",
                self.position_offset,
                allowed,
            )
        check_choice("activation", self.activation, ACTIVATIONS)
        check_boolean("attention_bias", self.attention_bias)
        check_boolean("output_bias", self.output_bias)
        check_boolean("pre_norm", self.pre_norm)
        check_positive("norm_epsilon", self.norm_epsilon)

    def resolved(self):
        """A checked copy in which nothing is left to a rule: d_k and d_v are numbers."""
        d_k, d_v = head_widths(self.d_model, self.num_heads, self.d_k, self.d_v)
        return dataclasses.replace(self, d_k=d_k, d_v=d_v)


class DecodingMemory(NamedTuple):
    """What decoding a batch of sentences needs of them; it stays the same at every step."""

    keys_values: Any  # a pair [sentences, heads, source_length, …] for each decoder block
    mask: Any  # [sentences, source_length]


@keras.saving.register_keras_serializable("t2t_keras")
class Transformer(keras.Model):
    """The model of "Attention Is All You Need".

    The weights exist as soon as the model is made.

    Args:
        config: a `TransformerConfig`; its defaults are the paper's base model.

    Call arguments:
        inputs: `{"source": [batch, source_length], "target": [batch, target_length]}`,
            integer ids. `target` is the decoder's input: begin (1), then the tokens. Ids
            of 0 are padding; in the target they stand behind the tokens.

    Returns:
        Logits `[batch, target_length, vocab_size]` in float32: those at position i are for
        the token that follows `target[:, i]`.

    Example:

    >>> model = Transformer(TransformerConfig(vocab_size=1000, num_layers=2))
    >>> source = keras.ops.array([[5, 6, 7, 2, 0]])
    >>> target = keras.ops.array([[1, 8, 9]])
    >>> outputs = model({"source": source, "target": target})  # [1, 3, 1000]

    References:
        Vaswani et al. 2017 (arXiv 1706.03762).
    """

    def __init__(self, config=None, **kwargs):
        super().__init__(**kwargs)
        config = TransformerConfig() if config is None else config
        check(
            isinstance(config, TransformerConfig), "config", config, "a TransformerConfig or None"
        )
        self.config = config = config.resolved()
        dtype = self.dtype_policy

        self.embedding = SharedEmbedding(
            config.vocab_size,
            config.d_model,
            output_bias=config.output_bias,
            mask_zero=False,
            dtype=dtype,
            name="embedding",
        )
        self.source_embedding = self.embedding
        if config.source_vocab_size is not None:
            self.source_embedding = SharedEmbedding(
                config.source_vocab_size,
                config.d_model,
                mask_zero=False,
                dtype=dtype,
                name="source_embedding",
            )

        self.source_positions = self.make_positions("source_positions")
        self.target_positions = self.make_positions("target_positions")
        self.source_dropout = keras.layers.Dropout(config.dropout, dtype=dtype)
        self.target_dropout = keras.layers.Dropout(config.dropout, dtype=dtype)

        stack = {
            name: getattr(config, name)
            for name in (
                "num_layers",
                "d_model",
                "d_ff",
                "num_heads",
                "d_k",
                "d_v",
                "dropout",
                "attention_dropout",
                "activation",
                "attention_bias",
                "pre_norm",
                "norm_epsilon",
            )
        }
        self.encoder = Encoder(**stack, dtype=dtype, name="encoder")
        self.decoder = Decoder(**stack, dtype=dtype, name="decoder")
        self.build({"source": (None, None), "target": (None, None)})

    def make_positions(self, name):
        config, dtype = self.config, self.dtype_policy
        if config.positions == "learned":
            return LearnedPositionalEncoding(
                config.max_length, config.position_offset, dtype=dtype, name=name
            )
        return SinusoidalPositionalEncoding(
            interleaved=config.positions == "sinusoidal",
            offset=config.position_offset,
            dtype=dtype,
            name=name,
        )

    def build(self, input_shape):
        if self.built:
            return
        ids, vectors = (None, None), (None, None, self.config.d_model)
        self.embedding.build(ids)
        if self.source_embedding is not self.embedding:
            self.source_embedding.build(ids)
        for layer in (
            self.source_positions,
            self.target_positions,
            self.source_dropout,
            self.target_dropout,
            self.encoder,
        ):
            layer.build(vectors)
        self.decoder.build(vectors, vectors)
        self.built = True

    def call(self, inputs, training=None):
        # Nothing here reads `training`; because it is named, Keras' fit says that it trains.
        source, target = check_inputs(inputs)
        encoded = self.encode(source)
        x = self.embed_target(target)
        # The target needs no mask: its padding stands behind every real token.
        x = self.decoder(x, encoded, memory_mask=padding_mask(source))
        return self.embedding.project(x)

    def encode(self, source):
        """Source ids `[batch, length]` → vectors `[batch, length, d_model]`."""
        check_ids("source", source)
        return self.encoder(self.embed_source(source), mask=padding_mask(source))

    def embed_source(self, source):
        x = self.source_positions(self.source_embedding(source))
        return self.source_dropout(x)

    def embed_target(self, target, start=0):
        x = self.target_positions(self.embedding(target), start=start)
        return self.target_dropout(x)

    def attention_weights(self, inputs):
        """The attention weights of every head, by the name of their sub-layer.

        Args:
            inputs: as for the model itself.

        Returns:
            A dict of float32 `[batch, heads, queries, keys]`: `"encoder/0/self_attention"`,
            …, `"decoder/0/self_attention"`, `"decoder/0/cross_attention"`, ….
        """
        source, target = check_inputs(inputs)
        mask = padding_mask(source)
        encoded, encoder_weights = self.encoder(
            self.embed_source(source), mask=mask, return_weights=True
        )
        _, decoder_weights = self.decoder(
            self.embed_target(target), encoded, memory_mask=mask, return_weights=True
        )
        named = {f"encoder/{name}": weights for name, weights in encoder_weights.items()}
        return named | {f"decoder/{name}": weights for name, weights in decoder_weights.items()}

    def start_decoding(self, source, max_length, beams=1):
        """Prepares to decode `beams` hypotheses of up to `max_length` tokens a sentence.

        Args:
            source: ids `[sentences, source_length]`.
            max_length: how many positions the cache has room for.
            beams: hypotheses a sentence.

        Returns:
            `memory`, which stays the same at every step, and `cache`, empty, for
            `sentences · beams` rows; both for `decode_step`.
        """
        check_integer("max_length", max_length)
        check_integer("beams", beams)
        if isinstance(self.target_positions, LearnedPositionalEncoding):
            self.target_positions.check_length(max_length)
        memory = DecodingMemory(
            self.decoder.keys_and_values(self.encode(source)), padding_mask(source)
        )
        return memory, self.decoder.empty_cache(ops.shape(source)[0] * beams, max_length)

    def decode_step(self, tokens, position, cache, memory):
        """Logits for the next token of every hypothesis, from its newest token alone.

        Args:
            tokens: ids `[rows]`, the tokens at `position`: begin (1) at position 0, later
                what was chosen from the step before. The hypotheses of a sentence stand
                next to each other: row = sentence · beams + beam.
            position: the number of that position, from 0; an int or a scalar tensor.
            cache: from `start_decoding` or the step before. Every array in it has the rows
                of `tokens` as its first axis, so that hypotheses may be reordered.
            memory: from `start_decoding`.

        Returns:
            Logits `[rows, vocab_size]` in float32, and the cache with this position in it.
        """
        rows, room = cache[0].keys.shape[0], cache[0].keys.shape[2]
        if len(tokens.shape) != 1 or (
            rows is not None and tokens.shape[0] is not None and tokens.shape[0] != rows
        ):
            raise ValueError(
                f"`tokens` must have the shape [rows], as many rows as the cache, {rows}. "
                f"Received: tokens of shape {tuple(tokens.shape)}"
            )
        if isinstance(position, int) and not 0 <= position < room:
            raise ValueError(
                f"`position` must be from 0 to {room - 1}, since the cache was made for "
                f"max_length={room}. Received: position={position}"
            )
        position = ops.cast(position, "int32")
        x = self.embed_target(tokens[:, None], start=position)
        x, cache = self.decoder.step(x, position, cache, memory.keys_values, memory.mask)
        return self.embedding.project(x[:, 0]), cache

    def compute_output_shape(self, input_shape):
        return (*input_shape["target"], self.config.vocab_size)

    def get_config(self):
        return {**super().get_config(), "config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "config": TransformerConfig(**config["config"])})


def check_inputs(inputs):
    """Returns source and target ids, or says which of them is missing or malformed."""
    if not isinstance(inputs, dict) or not {"source", "target"} <= inputs.keys():
        received = list(inputs) if isinstance(inputs, dict) else type(inputs).__name__
        raise ValueError(
            "Transformer takes {'source': ids [batch, length], 'target': ids [batch, length]}. "
            f"Received: {received}"
        )
    source, target = inputs["source"], inputs["target"]
    check_ids("source", source)
    check_ids("target", target)
    batch_sizes = source.shape[0], target.shape[0]
    if None not in batch_sizes and batch_sizes[0] != batch_sizes[1]:
        raise ValueError(
            "'source' and 'target' must have the same number of rows. "
            f"Received: {batch_sizes[0]} and {batch_sizes[1]}"
        )
    return source, target


def check_ids(name, ids):
    dtype = keras.backend.standardize_dtype(ids.dtype)
    if len(ids.shape) != 2 or "int" not in dtype:
        raise ValueError(
            f"{name!r} must be whole numbers of shape [batch, length]. "
            f"Received: {name!r} of dtype {dtype}, rank {len(ids.shape)}, shape {tuple(ids.shape)}"
        )
