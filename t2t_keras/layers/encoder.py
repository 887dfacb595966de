"""The encoder (§3.1): a stack of blocks of self-attention and feed-forward."""

import keras

from t2t_keras.checks import check_sequence
from t2t_keras.layers.stack import Block, Stack


@keras.saving.register_keras_serializable("t2t_keras")
class EncoderBlock(Block):
    """Self-attention and a feed-forward network, each inside `Residual`.

    Args:
        *values, **settings: see `Block`.
        causal: position i sees positions up to i, as in a language model.

    Call arguments:
        x: `[batch, length, d_model]`.
        mask: boolean `[batch, length]`, True at real tokens, or any mask that
            `MultiHeadAttention` accepts. Default: the Keras mask of `x`.
        return_weights: also return `{"self_attention": [batch, heads, length, length]}`.

    Returns:
        `[batch, length, d_model]`, and with `return_weights` also {name: weights}.

    Example:

    >>> block = EncoderBlock(d_model=512, d_ff=2048, num_heads=8)
    >>> outputs = block(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.1.
    """

    def __init__(self, *values, causal=False, **settings):
        super().__init__(*values, **settings)
        self.self_attention = self.make_self_attention(causal)
        self.feed_forward = self.make_feed_forward("feed_forward")

    def build(self, x_shape):
        check_sequence("x", x_shape, self.config.d_model)
        self.self_attention.build(x_shape)
        self.feed_forward.build(x_shape)

    def call(self, x, mask=None, return_weights=False):
        if not return_weights:
            return self.feed_forward(self.self_attention(x, query_mask=mask))
        x, weights = self.self_attention(x, query_mask=mask, return_attention_scores=True)
        return self.feed_forward(x), {"self_attention": weights}

    def get_config(self):
        return {**super().get_config(), "causal": self.self_attention.sublayer.causal}


@keras.saving.register_keras_serializable("t2t_keras")
class Encoder(Stack):
    """A stack of N encoder blocks.

    Args:
        num_layers: N.
        block_class: class of the blocks. None: `EncoderBlock`.
        **block: settings of each block, see `EncoderBlock`.

    Call arguments:
        x: `[batch, length, d_model]`, embeddings with positions.
        mask: see `EncoderBlock`.
        return_weights: also return the weights of every head, by block:
            `{"0/self_attention": …, "1/self_attention": …}`.

    Returns:
        `[batch, length, d_model]`, and with `return_weights` also {name: weights}.

    Example:

    >>> encoder = Encoder(num_layers=6, d_model=512, d_ff=2048, num_heads=8)
    >>> outputs = encoder(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.1.
    """

    default_block = EncoderBlock

    def build(self, x_shape):
        self.build_blocks(x_shape)

    def call(self, x, mask=None, return_weights=False, training=None):
        return self.call_blocks(x, mask=mask, return_weights=return_weights)
