"""Blocks as users write them."""

import keras

from t2t_keras.layers import DecoderBlock, EncoderBlock, FeedForward


@keras.saving.register_keras_serializable("own_blocks")
class GatedFeedForward(FeedForward):
    """`(f(x W₁ + b₁) · (x V + c)) W₂ + b₂` (Shazeer 2020); SwiGLU if f is "swish"."""

    def __init__(self, d_model, d_ff, activation="swish", **kwargs):
        super().__init__(d_model, d_ff, activation, **kwargs)
        self.gate = self.make_dense(d_ff, "gate")

    def build(self, x_shape):
        super().build(x_shape)
        self.gate.build(x_shape)

    def call(self, x):
        return self.outer(self.inner(x) * self.gate(x))


class WithGates:
    """Mixin of blocks: their feed-forward networks are gated."""

    def make_feed_forward(self, name):
        layer = {"dtype": self.dtype_policy, "name": "network", **self.weight_options}
        network = GatedFeedForward(self.d_model, self.d_ff, self.activation, **layer)
        return self.make_residual(network, name)


@keras.saving.register_keras_serializable("own_blocks")
class GatedEncoderBlock(WithGates, EncoderBlock):
    pass


@keras.saving.register_keras_serializable("own_blocks")
class GatedDecoderBlock(WithGates, DecoderBlock):
    pass


@keras.saving.register_keras_serializable("own_blocks")
class ParallelEncoderBlock(EncoderBlock):
    """Self-attention and the feed-forward network have the same input, as in GPT-J."""

    def call(self, x, mask=None, return_weights=False):
        found = self.self_attention(x, query_mask=mask, return_attention_scores=return_weights)
        y, *weights = found if return_weights else (found,)
        y = y + self.feed_forward(x) - x  # each of them adds x
        return (y, {"self_attention": weights[0]}) if return_weights else y


@keras.saving.register_keras_serializable("own_blocks")
class ParallelDecoderBlock(DecoderBlock):
    """A block with two caches: self-attention twice, both with the feed-forward network's input."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.second = self.make_attention("second", causal=True, positions=self.config.positions)
        self.scale = None

    def build(self, x_shape, memory_shape):
        super().build(x_shape, memory_shape)
        self.second.build(x_shape)
        self.scale = self.add_weight(shape=(1,), initializer="ones", name="scale")

    def call(self, x, memory, x_mask=None, memory_mask=None, return_weights=False):
        y = self.self_attention(x, query_mask=x_mask) + self.second(x, query_mask=x_mask)
        y = y + self.scale * self.feed_forward(x) - 2 * x
        over_memory = {"value": memory, "value_mask": memory_mask}
        if not return_weights:
            return self.cross_attention(y, **over_memory)
        _, own = self.self_attention(x, query_mask=x_mask, return_attention_scores=True)
        y, cross = self.cross_attention(y, **over_memory, return_attention_scores=True)
        return y, {"self_attention": own, "cross_attention": cross}

    def decode_step(self, x, step, cache, memory, memory_mask):
        first, first_cache = self.self_attention(x, step=step, cache=cache[0])
        second, second_cache = self.second(x, step=step, cache=cache[1])
        y = first + second + self.scale * self.feed_forward(x) - 2 * x
        y = self.cross_attention(y, step=step, cache=memory, value_mask=memory_mask)
        return y, [first_cache, second_cache]

    def empty_cache(self, sentences, length, beams=1):
        return [each.sublayer.empty_cache(sentences, length, beams) for each in self.attentions]

    @property
    def attentions(self):
        return self.self_attention, self.second
