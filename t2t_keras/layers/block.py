"""The base classes of encoder and decoder: a block, and a stack of blocks.

The sub-layers of a block and their order are in encoder.py and decoder.py.
"""

import keras

from t2t_keras.checks import check_boolean, check_integer, check_rate
from t2t_keras.layers.attention import MultiHeadAttention
from t2t_keras.layers.feed_forward import FeedForward
from t2t_keras.layers.layer_norm import LayerNorm
from t2t_keras.layers.local_attention import LocalSelfAttention
from t2t_keras.layers.residual import Residual

# The arguments of a block, named as in `TransformerConfig`.
BLOCK_SETTINGS = (
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
    "positions",
    "attention",
    "residual",
    "layer_norm",
    "neighbourhood",
)


class Block(keras.layers.Layer):
    """Base of `EncoderBlock` and `DecoderBlock`.

    Args:
        d_model: width of the block's input and output.
        d_ff: inner width of the feed-forward network.
        num_heads: h.
        d_k: width of a head's queries and keys. None: `d_model / num_heads`.
        d_v: width of a head's values. None: `d_model / num_heads`.
        dropout: rate on each sub-layer's output.
        attention_dropout: rate on the attention weights.
        activation: activation of the feed-forward network, see `FeedForward`.
        attention_bias: biases in the projections of the attention.
        pre_norm: norm before each sub-layer instead of after the sum.
        norm_epsilon: constant that the norms add to the variance.
        positions: name of a positional encoding; see `MultiHeadAttention`.
        attention: how scores are computed; see `MultiHeadAttention`.
        residual, layer_norm: False leaves out the residual connections or the norms.
        neighbourhood: restricts self-attention; see `LocalSelfAttention`. None: it is full.
    """

    def __init__(
        self,
        d_model,
        d_ff,
        num_heads,
        d_k=None,
        d_v=None,
        dropout=0.1,
        attention_dropout=0.0,
        activation="relu",
        attention_bias=False,
        pre_norm=False,
        norm_epsilon=1e-6,
        positions=None,
        attention="scaled",
        residual=True,
        layer_norm=True,
        neighbourhood=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_rate("attention_dropout", attention_dropout)
        check_boolean("attention_bias", attention_bias)
        self.supports_masking = True
        self.d_model = d_model
        self.d_ff = d_ff
        self.num_heads = num_heads
        self.d_k = d_k
        self.d_v = d_v
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation = activation
        self.attention_bias = attention_bias
        self.pre_norm = pre_norm
        self.norm_epsilon = norm_epsilon
        self.positions = positions
        self.attention = attention
        self.residual = residual
        self.layer_norm = layer_norm
        self.neighbourhood = neighbourhood

    def make_self_attention(self, causal=False):
        settings = {"causal": causal, "positions": self.positions}
        if self.neighbourhood is None:
            return self.make_attention("self_attention", **settings)
        settings["neighbourhood"] = self.neighbourhood
        return self.make_attention("self_attention", LocalSelfAttention, **settings)

    def make_attention(self, name, attention_class=MultiHeadAttention, **settings):
        attention = attention_class(
            num_heads=self.num_heads,
            d_model=self.d_model,
            d_k=self.d_k,
            d_v=self.d_v,
            dropout=self.attention_dropout,
            use_bias=self.attention_bias,
            attention=self.attention,
            dtype=self.dtype_policy,
            name="attention",
            **settings,
        )
        return self.make_residual(attention, name)

    def make_feed_forward(self, name):
        feed_forward = FeedForward(
            self.d_model, self.d_ff, self.activation, dtype=self.dtype_policy, name="network"
        )
        return self.make_residual(feed_forward, name)

    def make_residual(self, sublayer, name):
        return Residual(
            sublayer,
            dropout=self.dropout,
            pre_norm=self.pre_norm,
            norm_epsilon=self.norm_epsilon,
            residual=self.residual,
            layer_norm=self.layer_norm,
            dtype=self.dtype_policy,
            name=name,
        )

    def get_config(self):
        settings = {name: getattr(self, name) for name in BLOCK_SETTINGS}
        return {**super().get_config(), **settings}


class Stack(keras.layers.Layer):
    """Base of `Encoder` and `Decoder`: `num_layers` blocks in a row.

    Pre-norm blocks are followed by one more norm. Post-norm blocks already end in one (§3.1).

    Args:
        num_layers: N.
        name, dtype, trainable: arguments of any Keras layer.
        **block: settings of each block, see `Block`.
    """

    block_class = None

    def __init__(self, num_layers, *, name=None, dtype=None, trainable=True, **block):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        check_integer("num_layers", num_layers)
        self.supports_masking = True
        self.blocks = [
            self.block_class(**block, dtype=self.dtype_policy, name=f"block_{i}")
            for i in range(num_layers)
        ]
        self.final_norm = None
        if self.blocks[0].pre_norm and self.blocks[0].layer_norm:
            epsilon = self.blocks[0].norm_epsilon
            self.final_norm = LayerNorm(epsilon=epsilon, dtype=self.dtype_policy, name="norm")
        self.block_settings = block

    def build_blocks(self, x_shape, *memory_shape):
        for block in self.blocks:
            block.build(x_shape, *memory_shape)
        if self.final_norm is not None:
            self.final_norm.build(x_shape)

    def finish(self, x):
        return x if self.final_norm is None else self.final_norm(x)

    def get_config(self):
        return {
            **super().get_config(),
            "num_layers": len(self.blocks),
            **self.block_settings,
        }
