"""The Transformer: encoder and decoder around one shared matrix (§3), as a Keras model."""

import dataclasses
from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.checks import check, check_integer
from t2t_keras.layers.attention import place_of
from t2t_keras.layers.decoder import Decoder
from t2t_keras.layers.encoder import Encoder
from t2t_keras.layers.masks import over_heads, padding_mask
from t2t_keras.layers.positional_encoding import (
    LearnedPositionalEncoding,
    SinusoidalPositionalEncoding,
)
from t2t_keras.layers.shared_embedding import SharedEmbedding
from t2t_keras.transformer_config import TransformerConfig


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
        super().__init__(autocast=False, **kwargs)  # its inputs are ids
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
        # `training` is handed on by hand: on JAX, Keras' fit calls this method itself, and not
        # the model, so that the layers would not hear of it otherwise.
        source, target = check_inputs(inputs)
        encoded = self.encode(source, training)
        x = self.embed_target(target, training=training)
        # The target needs no mask: its padding stands behind every real token.
        x = self.decoder(x, encoded, memory_mask=padding_mask(source), training=training)
        return self.embedding.project(x)

    def encode(self, source, training=None):
        """Source ids `[batch, length]` → vectors `[batch, length, d_model]`."""
        check_ids("source", source)
        x = self.embed_source(source, training)
        return self.encoder(x, mask=padding_mask(source), training=training)

    def embed_source(self, source, training=None):
        x = self.source_positions(self.source_embedding(source))
        return self.source_dropout(x, training=training)

    def embed_target(self, target, start=0, training=None):
        x = self.target_positions(self.embedding(target), start=start)
        return self.target_dropout(x, training=training)

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

    @property
    def input_dtype(self):
        """What Keras takes inputs to be when it exports the model."""
        return "int32"

    @property
    def longest(self):
        """The longest sequence that there are positions for; None: there is none."""
        if self.config.positions != "learned":
            return None
        return self.config.max_length - self.config.position_offset

    def start_decoding(self, source, max_length, beams=1):
        """Prepares to decode `beams` hypotheses of up to `max_length` tokens a sentence.

        Args:
            source: ids `[sentences, source_length]`.
            max_length: how many positions the cache has room for.
            beams: hypotheses a sentence.

        Returns:
            `memory`, which stays the same at every step, and `cache`, empty; both for
            `decode_step`. Every array in them has the sentences as its first axis.
        """
        check_integer("max_length", max_length)
        check_integer("beams", beams)
        if isinstance(self.target_positions, LearnedPositionalEncoding):
            self.target_positions.check_length(max_length)
        memory = DecodingMemory(
            self.decoder.keys_and_values(self.encode(source)), padding_mask(source)
        )
        return memory, self.decoder.empty_cache(ops.shape(source)[0], max_length, beams)

    def decode_step(self, tokens, position, cache, memory, visible=None):
        """Logits for the next token of every hypothesis, from its newest token alone.

        What a hypothesis wrote into the cache stays where it is, in slot `position · beams +
        beam` of its sentence. When a search lets hypothesis 0 go on from what was hypothesis 2,
        it changes `visible` and copies nothing.

        Args:
            tokens: ids `[rows]`, the tokens at `position`: begin (1) at position 0, later
                what was chosen from the step before. The hypotheses of a sentence stand
                next to each other: row = sentence · beams + beam.
            position: the number of that position, from 0; an int or a scalar tensor.
            cache: from `start_decoding` or the step before.
            memory: from `start_decoding`.
            visible: boolean `[sentences, beams, max_length · beams]`: the slots that a
                hypothesis is made of, those of this position included. None: no hypothesis
                ever goes on from another one (and where the shape of `tokens` is not known,
                there is one a sentence).

        Returns:
            Logits `[rows, vocab_size]` in float32, and the cache with this position in it.
        """
        sentences, slots = cache[0].keys.shape[0], cache[0].keys.shape[2]
        rows = tokens.shape[0] if len(tokens.shape) == 1 else -1
        if rows is not None and sentences is not None and (rows < 1 or rows % sentences):
            raise ValueError(
                f"`tokens` must have the shape [rows], as many rows for each of the {sentences} "
                f"sentences. Received: tokens of shape {tuple(tokens.shape)}"
            )
        if isinstance(position, int) and rows is not None and sentences is not None:
            room = slots // (rows // sentences)
            if not 0 <= position < room:
                raise ValueError(
                    f"`position` must be from 0 to {room - 1}, since the cache was made for "
                    f"max_length={room}. Received: position={position}"
                )
        beams = 1
        if visible is not None:
            beams = visible.shape[1]
        elif rows is not None and sentences is not None:
            beams = rows // sentences
        position = ops.cast(position, "int32")
        x = self.embed_target(tokens[:, None], start=position)
        x = ops.reshape(x, (-1, self.config.d_model))
        place = place_of(cache[0], position, beams, visible)
        x, cache = self.decoder.step(x, cache, memory.keys_values, place, over_heads(memory.mask))
        return self.embedding.project(x), cache

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
