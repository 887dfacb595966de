"""Base classes of all rivals: their settings, and a decoder for whole sequences or positions."""

import dataclasses

from keras import ops

from pipelines.checks import setting
from t2t_keras.layers.masks import padding_mask
from t2t_keras.layers.numerics import at_least_float32
from t2t_keras.sequence_model import ModelConfig, SequenceModel, check_ids, check_inputs

LOWEST = -1e9


@dataclasses.dataclass
class RivalConfig(ModelConfig):
    """Base class of the rivals' settings.

    Args:
        vocab_size: number of target tokens, and of source tokens if `source_vocab_size` is None.
        num_layers: number of layers of the encoder.
        decoder_layers: number of layers of the decoder. None: `num_layers`.
        d_model: width of the embeddings, and of the vectors that are compared with them.
        dropout: rate on the embeddings and on each layer's output.
        source_vocab_size: number of source tokens. None: source and target share one embedding
            matrix.
        tie_output: whether the target's embedding matrix also computes the logits.
    """

    vocab_size: int = setting(37000, at_least=4)
    num_layers: int = setting(6, at_least=1)
    decoder_layers: int | None = setting(None, at_least=1)
    d_model: int = setting(512, at_least=1)
    dropout: float = setting(0.1, at_least=0, below=1)
    source_vocab_size: int | None = setting(None, at_least=4)
    tie_output: bool = True


class Rival(SequenceModel):
    """Base class of the rivals.

    A subclass has `dropout`, a layer, and `decoder`, a list of layers for whole sequences that also
    have `empty_cache` and `decode_step` (see `histories.py`). It defines:

    - `encode(source, training)` and `remember(source, training)`: the encoded source, and a named
      tuple with all that the decoder needs of it.
    - `stack(x, apply, memory, positions, mask, training)`: outputs `[sentences, positions,
      d_model]` and a list of attention weights `[sentences, positions, source_length]`. x is the
      embedded target, `positions` its indices `[positions]`, and `apply(i, x)` applies decoder
      layer i. While decoding, the hypotheses of a sentence take the place of the positions, and
      `positions` has the one index of all.
    """

    def embed(self, target, start=0, training=None):
        """Returns the embedded target, whose first position has the index `start`."""
        return self.dropout(self.embedding(target), training=training)

    def decode(self, source, target, training=None):
        return self.decode_with_weights(source, target, training)[0]

    def decode_with_weights(self, source, target, training=None):
        memory = self.remember(source, training)
        return self.decode_all(self.embed(target, training=training), memory, target, training)

    def decode_all(self, x, memory, target, training):
        positions = ops.arange(ops.shape(target)[1], dtype="int32")

        def apply(i, x):
            return self.decoder[i](x, training=training)

        return self.stack(x, apply, memory, positions, padding_mask(target), training)

    def attention_weights(self, inputs):
        """Returns `{"decoder/0/cross_attention": float32 [batch, 1, queries, keys], …}`."""
        _, weights = self.decode_with_weights(*check_inputs(inputs))
        return {f"decoder/{i}/cross_attention": each[:, None] for i, each in enumerate(weights)}

    def start_decoding(self, source, max_length, beams=1):
        """See `Transformer.start_decoding`. The cache contains each layer's earlier vectors."""
        self.check_room(max_length, beams)
        check_ids("source", source)
        sentences = ops.shape(source)[0]
        caches = [layer.empty_cache(sentences, beams) for layer in self.decoder]
        return self.remember(source), caches

    def decode_step(self, tokens, position, cache, memory, visible=None):
        """See `Transformer.decode_step`."""
        beams, position, caches = beams_of(tokens, cache, visible), ops.cast(position, "int32"), []

        def apply(i, x):
            rows = ops.reshape(x, (-1, ops.shape(x)[-1]))  # a width may be unknown in a graph
            y, new = self.decoder[i].decode_step(rows, position, cache[i], beams, visible)
            caches.append(new)
            return ops.reshape(y, (-1, beams, y.shape[-1]))

        x = self.embed(tokens[:, None], start=position)
        x = ops.reshape(x, (-1, beams, self.config.d_model))
        x, _ = self.stack(x, apply, memory, position[None])
        return self.output_embedding.project(ops.reshape(x, (-1, self.config.d_model))), caches


def beams_of(tokens, cache, visible):
    """Returns the number of hypotheses per sentence, from the arguments of a `decode_step`.

    If `visible` is None and the shapes are unknown, there is one hypothesis per sentence.
    """
    if visible is not None:
        return visible.shape[1]
    rows, sentences = tokens.shape[0], cache[0][0].shape[0]
    return 1 if rows is None or sentences is None else rows // sentences


def attend(scores, values, mask):
    """Returns contexts `[batch, queries, width]` and weights `[batch, queries, length]`.

    Args:
        scores: `[batch, queries, length]`.
        values: `[batch, length, width]`.
        mask: boolean `[batch, length]`, True at real tokens.
    """
    scores = ops.where(mask[:, None], at_least_float32(scores), LOWEST)
    weights = ops.softmax(scores, axis=-1)
    return ops.matmul(ops.cast(weights, values.dtype), values), weights
