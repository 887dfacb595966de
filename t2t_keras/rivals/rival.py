"""Base classes of all rivals: their settings, and a decoder for whole sequences or positions."""

import dataclasses

from keras import ops

from pipelines.checks import setting
from t2t_keras.layers.masks import padding_mask
from t2t_keras.rivals.histories import Step
from t2t_keras.sequence_model import ModelConfig, SequenceModel, beams_of, check_ids, check_inputs


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

    A subclass has `dropout`, a layer, and `decoder`, a list of layers with a `History`. It defines:

    - `encode(source, training)` and `remember(source, training)`: the encoded source, and a tuple
      with all that the decoder needs of it.
    - `stack(x, memory, mask, training, step)`: outputs `[sentences, positions, d_model]` and a list
      of attention weights `[sentences, positions, source_length]`. x is the embedded target. While
      decoding, `step` is a `Step`, which is handed to each layer of the decoder once, in order. The
      hypotheses of a sentence then take the place of the positions.
    """

    def embed(self, target, start=0, training=None):
        """Returns the embedded target, whose first position has the index `start`."""
        return self.dropout(self.embedding(target), training=training)

    def decode(self, source, target, training=None):
        return self.decode_with_weights(source, target, training)[0]

    def decode_with_weights(self, source, target, training=None):
        memory = self.remember(source, training)
        x = self.embed(target, training=training)
        return self.stack(x, memory, padding_mask(target), training)

    def attention_weights(self, inputs):
        """Returns `{"decoder/0/cross_attention": float32 [batch, 1, queries, keys], …}`."""
        _, weights = self.decode_with_weights(*check_inputs(inputs))
        return {f"decoder/{i}/cross_attention": each[:, None] for i, each in enumerate(weights)}

    def start_decoding(self, source, max_length, beams=1):
        """See `Transformer.start_decoding`. The cache contains each layer's earlier vectors."""
        self.check_room(max_length, beams)
        check_ids("source", source)
        histories = [layer.history for layer in self.decoder if layer.history.kept]
        sizes = ops.shape(source)[0], beams, self.compute_dtype
        return self.remember(source), [history.empty(*sizes) for history in histories]

    def decode_step(self, tokens, position, cache, memory, visible=None):
        """See `Transformer.decode_step`."""
        position, beams = ops.cast(position, "int32"), beams_of(tokens, cache[0], visible)
        step = Step(position, beams, visible, cache)
        x = self.embed(tokens[:, None], start=position)
        x = ops.reshape(x, (-1, beams, self.config.d_model))
        x, _ = self.stack(x, memory, step=step)
        x = ops.reshape(x, (-1, self.config.d_model))
        return self.output_embedding.project(x), step.written
