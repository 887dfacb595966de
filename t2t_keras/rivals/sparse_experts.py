"""Sparsely gated mixture of experts: a few of many small networks process each token."""

import math

import keras
from keras import ops

from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.numerics import at_least_float32


@keras.saving.register_keras_serializable("t2t_keras")
class SparseExperts(OutputShapes, keras.layers.Layer):
    """A mixture of feed-forward networks, the experts. A gate chooses a few experts per token.

    A token is assigned to each expert that it chooses. The assignments are sorted by expert and
    divided into blocks of equal size, each for a single expert. n assignments take at most n blocks
    and, including padding, 2 n + experts rows in total. No token is dropped, so a token's output
    does not depend on the other tokens.

    In training, random noise is added to the gate's logits, so that tokens try other experts. Two
    losses favor equal use of the experts: the squared coefficients of variation of importance and
    load. An expert's importance is the sum of its gates; its load is its expected number of tokens.

    Args:
        experts: number of experts.
        chosen: number of experts per token.
        units: width of an expert's hidden layer.
        balance: weight of each of the two losses.

    Call arguments:
        x: `[..., width]`.
        mask: boolean `[...]`, True at the tokens that count in the losses. If None, all
            tokens count.

    Example:

    >>> layer = SparseExperts(experts=8, chosen=2, units=32)
    >>> outputs = layer(keras.random.normal((2, 10, 16)))  # [2, 10, 16]

    References:
        Shazeer et al. 2017 (arXiv 1701.06538).
    """

    def __init__(self, experts, chosen, units, balance=0.01, **kwargs):
        super().__init__(**kwargs)
        self.experts, self.chosen, self.units, self.balance = experts, chosen, units, balance
        self.seed_generator = keras.random.SeedGenerator()

    def build(self, x_shape):
        width = x_shape[-1]

        def kernel(name, *shape):
            limit = math.sqrt(6 / (shape[-2] + shape[-1]))
            initializer = keras.initializers.RandomUniform(-limit, limit)
            return self.add_weight(shape=shape, initializer=initializer, name=name)

        # Zeros, so that the experts initially have equal gates (appendix A of the paper).
        gates = {"shape": (width, self.experts), "initializer": "zeros", "autocast": False}
        self.gate = self.add_weight(**gates, name="gate")
        self.noise = self.add_weight(**gates, name="noise")
        self.inner = kernel("inner", self.experts, width, self.units)
        self.outer = kernel("outer", self.experts, self.units, width)

    def call(self, x, mask=None, training=None):
        tokens = ops.reshape(x, (-1, x.shape[-1]))
        clean = ops.matmul(at_least_float32(tokens), at_least_float32(self.gate))
        rates, spread = clean, None
        if training:
            noise = ops.matmul(at_least_float32(tokens), at_least_float32(self.noise))
            spread = ops.softplus(noise) + 1e-2
            draws = keras.random.normal(ops.shape(clean), seed=self.seed_generator)
            rates = clean + spread * ops.cast(draws, clean.dtype)
        highest, experts = ops.top_k(rates, min(self.chosen + 1, self.experts))
        gates = ops.exp(highest[:, : self.chosen] - highest[:, :1])
        gates = gates / ops.sum(gates, axis=-1, keepdims=True)
        experts = experts[:, : self.chosen]
        if training:
            counted = ops.ones_like(clean[:, 0]) if mask is None else ops.reshape(mask, (-1,))
            self.add_balance(clean, rates, spread, highest, gates, experts, counted)
        outputs = self.of_experts(tokens, experts)
        outputs = ops.sum(outputs * ops.cast(gates, outputs.dtype)[..., None], axis=1)
        return ops.reshape(outputs, ops.shape(x))

    def of_experts(self, tokens, experts):
        """Returns `[tokens, chosen, width]`, the outputs of the chosen experts for each token."""
        width, assigned = tokens.shape[-1], ops.reshape(ops.cast(experts, "int32"), (-1,))
        count = ops.shape(assigned)[0]
        size = count // self.experts + 1  # rows per block
        blocks = smaller(count // size + self.experts, count)
        of_each = ops.sum(ops.one_hot(assigned, self.experts, dtype="int32"), axis=0)
        blocks_of_each = -(-of_each // size)
        rank = ops.argsort(ops.argsort(assigned))  # rank of each assignment when sorted by expert
        before, blocks_before = (ops.cumsum(each) - each for each in (of_each, blocks_of_each))
        rank = ops.cast(rank, "int32") - ops.take(before, assigned)  # rank within the expert
        row = ops.take(blocks_before, assigned) * size + rank
        token = ops.arange(count, dtype="int32") // self.chosen
        token_of_row = ops.scatter(row[:, None], token, (blocks * size,))
        expert_of_block = ops.searchsorted(
            ops.cumsum(blocks_of_each), ops.arange(blocks, dtype="int32"), side="right"
        )
        expert_of_block = ops.minimum(ops.cast(expert_of_block, "int32"), self.experts - 1)
        x = ops.reshape(ops.take(tokens, token_of_row, axis=0), (blocks, size, width))
        inner, outer = (
            ops.take(ops.cast(kernel, x.dtype), expert_of_block, axis=0)
            for kernel in (self.inner, self.outer)
        )
        x = ops.reshape(ops.matmul(ops.relu(ops.matmul(x, inner)), outer), (-1, width))
        return ops.reshape(ops.take(x, row, axis=0), (-1, self.chosen, width))

    def add_balance(self, clean, rates, spread, highest, gates, experts, counted):
        """Adds the two losses. `counted`, `[tokens]`, is 0 at padding."""
        counted = ops.cast(counted, clean.dtype)[:, None]
        use = ops.one_hot(experts, self.experts, dtype=clean.dtype) * gates[..., None]
        importance = ops.sum(ops.sum(use, axis=1) * counted, axis=0)
        losses = variation(importance)
        if self.chosen < self.experts:
            # Probability that an expert would be chosen if only its own noise were drawn again.
            last, next_one = highest[:, -2:-1], highest[:, -1:]
            others = ops.where(rates >= last, next_one, last)
            normal = (clean - others) / spread
            probability = (1 + ops.erf(normal / math.sqrt(2))) / 2
            losses += variation(ops.sum(probability * counted, axis=0))
        self.add_loss(self.balance * losses)

    def get_config(self):
        settings = {name: getattr(self, name) for name in ("experts", "chosen", "units", "balance")}
        return {**super().get_config(), **settings}


def smaller(one, other):
    """Returns the smaller size, or the first one if the sizes are symbolic, as in JAX's export."""
    if ops.is_tensor(one):
        return ops.minimum(one, other)
    return min(one, other) if isinstance(one, int) else one


def variation(x):
    """Returns the squared coefficient of variation of a vector."""
    return ops.var(x) / (ops.square(ops.mean(x)) + 1e-10)
