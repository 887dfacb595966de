"""The settings of a model, checked when they are created."""

import dataclasses

from pipelines.checks import setting
from t2t_keras.layers.attention import head_widths
from t2t_keras.layers.decoder import BLOCKS, blocks_with_options
from t2t_keras.layers.feed_forward import activation_names
from t2t_keras.layers.positional_encoding import POSITIONAL_ENCODINGS
from t2t_keras.layers.scaled_dot_product import SCORES
from t2t_keras.sequence_model import ModelConfig


@dataclasses.dataclass
class TransformerConfig(ModelConfig):
    """The settings of a model, named as in the paper. The defaults are its base model.

    The first group contains the settings that the paper varies. The second group, from
    `decoder_layers` on, allows models of other systems; its defaults are the paper's model.

    Args:
        vocab_size: number of ids of the target, and of the source unless `source_vocab_size` is
            set.
        num_layers: N, layers of the encoder, and of the decoder unless `decoder_layers` is set.
        d_model: width of the embeddings and of every sub-layer's output.
        d_ff: inner width of the feed-forward networks.
        num_heads: h, attention heads.
        d_k: width of a head's queries and keys. None: d_model / num_heads.
        d_v: width of a head's values. None: d_model / num_heads.
        dropout: rate of dropout on embeddings and on sub-layers' outputs.
        attention_dropout: rate of dropout on the attention weights; the paper has some in parsing.
        positions: "sinusoidal", "learned", "none", "concatenated", "hugging_face", "t5" or "alibi".
        max_length: rows in the table of learned positions.
        attention: computation of attention scores: "scaled", "unscaled" or "additive".
        residual: False leaves out all residual connections.
        layer_norm: False leaves out all norms.
        neighbourhood: r of restricted self-attention (§4) in the encoder: positions that each
            position sees around itself. None: all.
        decoder_neighbourhood: r of restricted self-attention in the decoder: positions that each
            position sees, up to and including itself. None: all.
        decoder_layers: layers of the decoder. None: `num_layers`.
        source_vocab_size: number of ids of the source. None: source and target share one embedding
            matrix.
        tie_output: whether the target's embedding matrix also computes the logits.
        embedding_scale: factor on the embeddings. None: √d_model.
        source_end: whether the model sees the end token of the source.
        activation: "relu", "swish", "gelu", "gelu_tanh", "gelu_sigmoid" or a name in
            `keras.activations`.
        attention_bias: whether the projections of attention have biases.
        output_bias: whether the logits have a bias.
        position_offset: index of the first position.
        pre_norm: norms before the sub-layers instead of after them.
        norm_epsilon: ε of the norms.
        block: kind of the blocks of encoder and decoder, a name in `BLOCKS` (layers/decoder.py).
        block_options: options of these blocks, such as "kernel=5"; the paper's blocks have none.
    """

    # Four ids are reserved: padding, begin, end, unknown. Maximum values are far beyond any use, so
    # that settings from other sources cannot exhaust the memory.
    vocab_size: int = setting(37000, at_least=4)
    num_layers: int = setting(6, at_least=1, at_most=1000)
    d_model: int = setting(512, at_least=1)
    d_ff: int = setting(2048, at_least=1)
    num_heads: int = setting(8, at_least=1)
    d_k: int | None = setting(None, at_least=1)
    d_v: int | None = setting(None, at_least=1)
    dropout: float = setting(0.1, at_least=0, below=1)
    attention_dropout: float = setting(0.0, at_least=0, below=1)
    positions: str = setting("sinusoidal", choices=POSITIONAL_ENCODINGS)
    max_length: int = setting(1024, at_least=1)
    attention: str = setting("scaled", choices=SCORES)
    residual: bool = True
    layer_norm: bool = True
    neighbourhood: int | None = setting(None, at_least=1)
    decoder_neighbourhood: int | None = setting(None, at_least=1)

    decoder_layers: int | None = setting(None, at_least=1, at_most=1000)
    source_vocab_size: int | None = setting(None, at_least=4)
    tie_output: bool = True
    embedding_scale: float | None = setting(None, above=0)
    source_end: bool = True
    activation: str = setting("relu", choices=activation_names())
    attention_bias: bool = False
    output_bias: bool = False
    position_offset: int = setting(0, at_least=0, at_most=10_000)
    pre_norm: bool = False
    norm_epsilon: float = setting(1e-6, above=0)
    block: str = setting("transformer", choices=BLOCKS)
    block_options: str = ""

    # The number of heads is never divided, because a model with one head could not be. So h · d_k =
    # d_model still holds if it did before.
    widths = ("d_model", "d_ff", "d_k", "d_v")

    def validate(self):
        super().validate()
        head_widths(self.d_model, self.num_heads, self.d_k, self.d_v)
        POSITIONAL_ENCODINGS[self.positions].make(self)
        blocks_with_options(self.block, self.block_options)

    @property
    def attention_layers(self):
        """The number of attention layers in the encoder, in the decoder and between them."""
        encoder, decoder = self.layers
        return encoder, decoder, decoder

    def attention_products(self, length):
        config, layers = self.resolved(), self.attention_layers
        seen = [
            min(length, r or length) for r in (self.neighbourhood, self.decoder_neighbourhood, None)
        ]
        pairs = sum(count * keys for count, keys in zip(layers, seen, strict=True))
        return pairs * config.num_heads * (config.d_k + config.d_v)

    @property
    def longest(self):
        """The maximum length of a sequence, set by the positional encoding; None: no limit."""
        return POSITIONAL_ENCODINGS[self.positions].make(self).longest

    def resolved(self):
        """Returns a checked copy in which d_k, d_v and decoder_layers are set."""
        d_k, d_v = head_widths(self.d_model, self.num_heads, self.d_k, self.d_v)
        return dataclasses.replace(self, d_k=d_k, d_v=d_v, decoder_layers=self.layers[1])
