"""The Transformer as a Keras model: encoder, decoder and one shared embedding matrix (§3)."""

import dataclasses
from typing import Any, NamedTuple

import keras
from keras import ops

from t2t_keras.decoding_cache import cached_positions, decoding_step, extended, keys_values_in
from t2t_keras.layers.decoder import Decoder, blocks_with_options
from t2t_keras.layers.encoder import Encoder
from t2t_keras.layers.masks import over_heads
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS
from t2t_keras.layers.stack import BlockConfig
from t2t_keras.ops import map_structure
from t2t_keras.sequence_model import SequenceModel, beams_of, check_ids, check_inputs
from t2t_keras.transformer_config import TransformerConfig


class DecodingMemory(NamedTuple):
    """Keys, values and mask of a batch of source sentences; constant during decoding."""

    keys_values: Any  # the `KeysValues` of each decoder block's cross-attention
    mask: Any  # [sentences, source_length]


@keras.saving.register_keras_serializable("t2t_keras")
class Transformer(SequenceModel):
    """The model of "Attention Is All You Need".

    The weights are created with the model, without a first call.

    Args:
        config: a `TransformerConfig`; its defaults are the paper's base model.

    Call arguments:
        inputs: `{"source": [batch, source_length], "target": [batch, target_length]}`,
            integer ids. `target` is the decoder's input: the begin id (1), then the tokens. Id 0 is
            padding; in the target it must come after the tokens.
        project: False returns the vectors from which `output_embedding` would compute the logits,
            `[batch, target_length, d_model]`.

    Returns:
        Logits `[batch, target_length, vocab_size]` in float32. Position i predicts the token
        that follows `target[:, i]`.

    Example:

    >>> model = Transformer(TransformerConfig(vocab_size=1000, num_layers=2))
    >>> source = keras.ops.array([[5, 6, 7, 2, 0]])
    >>> target = keras.ops.array([[1, 8, 9]])
    >>> outputs = model({"source": source, "target": target})  # [1, 3, 1000]

    References:
        Vaswani et al. 2017 (arXiv 1706.03762).
    """

    config_class = TransformerConfig

    def __init__(self, config=None, **kwargs):
        super().__init__(config, **kwargs)
        config, dtype = self.config, self.dtype_policy
        positions = POSITIONAL_ENCODINGS[config.positions]
        # Two tables of learned positions: the paper does not specify whether the stacks share one.
        self.source_positions = positions.make(config, dtype=dtype, name="source_positions")
        self.target_positions = positions.make(config, dtype=dtype, name="target_positions")
        self.source_dropout = keras.layers.Dropout(config.dropout, dtype=dtype)
        self.target_dropout = keras.layers.Dropout(config.dropout, dtype=dtype)

        block = dataclasses.asdict(BlockConfig.of(config)) | {"dtype": dtype}
        of_encoder, of_decoder = blocks_with_options(config.block, config.block_options)
        self.encoder = Encoder(config.num_layers, **block, **of_encoder, name="encoder")
        block["neighbourhood"] = config.decoder_neighbourhood
        self.decoder = Decoder(config.decoder_layers, **block, **of_decoder, name="decoder")
        self.create_weights()

    @property
    def embedding_options(self):
        return {"scale": self.config.embedding_scale}

    @property
    def steps_at_once(self):
        """Whether `decode_step` takes several successive tokens."""
        return self.config.block == "transformer" and self.config.decoder_neighbourhood is None

    def build_layers(self):
        vectors = (None, None, self.config.d_model)
        positions = self.source_positions, self.target_positions
        for layer in (*positions, self.source_dropout, self.target_dropout, self.encoder):
            layer.build(vectors)
        self.decoder.build(vectors, vectors)

    def decode(self, source, target, training=None, return_weights=False):
        encoded = self.encode(source, training)
        x = self.embed_target(target, training=training)
        # The target needs no mask: its padding comes after every real token.
        mask = self.source_mask(source)
        return self.decoder(
            x, encoded, memory_mask=mask, return_weights=return_weights, training=training
        )

    def encode(self, source, training=None):
        """Encodes source ids `[batch, length]` as vectors `[batch, length, d_model]`."""
        check_ids("source", source)
        x = self.embed_source(source, training)
        return self.encoder(x, mask=self.source_mask(source), training=training)

    def embed_source(self, source, training=None):
        x = self.source_positions(self.source_embedding(source))
        return self.source_dropout(x, training=training)

    def embed_target(self, target, start=0, training=None):
        x = self.target_positions(self.embedding(target), start=start)
        return self.target_dropout(x, training=training)

    def attention_weights(self, inputs):
        """Computes the attention weights of every head.

        Args:
            inputs: the inputs of the model.

        Returns:
            {name of a sub-layer: float32 `[batch, heads, queries, keys]`}. The names are
            `"encoder/0/self_attention"`, …, `"decoder/0/self_attention"`,
            `"decoder/0/cross_attention"`, ….
        """
        source, target = check_inputs(inputs)
        mask = self.source_mask(source)
        x = self.embed_source(source)
        encoded, encoder_weights = self.encoder(x, mask=mask, return_weights=True)
        _, decoder_weights = self.decoder(
            self.embed_target(target), encoded, memory_mask=mask, return_weights=True
        )
        named = {f"encoder/{name}": weights for name, weights in encoder_weights.items()}
        return named | {f"decoder/{name}": weights for name, weights in decoder_weights.items()}

    def start_decoding(self, source, max_length, beams=1):
        """Prepares to decode `beams` hypotheses of up to `max_length` tokens per sentence.

        Args:
            source: ids `[sentences, source_length]`.
            max_length: number of positions that may be decoded, an int or a scalar tensor.
            beams: hypotheses per sentence.

        Returns:
            `memory`, which never changes, and an empty `cache`, both for `decode_step`. The first
            axis of all their arrays is the sentence.
        """
        self.check_room(max_length, beams)
        self.target_positions.check_length(max_length)
        keys_values = self.decoder.keys_and_values(self.encode(source))
        memory = DecodingMemory(keys_values, self.source_mask(source))
        return memory, self.decoder.empty_cache(ops.shape(source)[0], max_length, beams)

    def extend_cache(self, cache, max_length, beams=1):
        """Returns a cache with the same content, for up to `max_length` tokens.

        Args:
            cache: from `start_decoding` or `decode_step`, for fewer tokens.
            max_length, beams: see `start_decoding`.
        """
        slots = cached_positions(max_length, self.config.decoder_neighbourhood) * beams
        return map_structure(lambda x: extended(x, 2, slots), cache)

    def decode_step(self, tokens, position, cache, memory, visible=None):
        """Computes logits for the next token of every hypothesis from its newest token and a cache.

        The keys and values that beam b writes stay in slot `position · beams + b` of the
        sentence's cache. When a beam search replaces hypothesis 0 with a continuation of
        hypothesis 2, it changes `visible`; no cache is copied. With `decoder_neighbourhood`, the
        cache holds only that number of newest positions.

        Args:
            tokens: ids `[rows]`, the tokens at `position`: the begin id (1) at position 0, then the
                tokens chosen after the previous step. Row = sentence · beams + beam. Or, for one
                hypothesis per sentence, ids `[sentences, length]`, the tokens at `position` and
                after it, if `steps_at_once`. Row = sentence · length + position.
            position: index of the position, from 0; an int or a scalar tensor.
            cache: from `start_decoding` or the previous step.
            memory: from `start_decoding`.
            visible: boolean `[sentences, beams, max_length · beams]`: the slots that hold each
                hypothesis, including its slot at this position. None: every hypothesis sees
                its own slots. (If the shape of `tokens` is unknown, None also means one hypothesis
                per sentence.)

        Returns:
            Logits `[rows, vocab_size]` in float32, and the cache with this position in it.
        """
        rolling = self.config.decoder_neighbourhood is not None
        first = keys_values_in(cache)
        beams, length = beams_of(tokens, first.keys, visible), 1
        if len(tokens.shape) == 2:
            beams, length = 1, tokens.shape[1]
        position = ops.cast(position, "int32")
        x = self.embed_target(ops.reshape(tokens, (-1, length)), start=position)
        x = ops.reshape(x, (-1, self.config.d_model))
        step = decoding_step(first, position, beams, visible, rolling, length)
        x, cache = self.decoder.decode_step(
            x, step, cache, memory.keys_values, over_heads(memory.mask)
        )
        return self.output_embedding.project(x), cache
