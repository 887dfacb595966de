"""Additive attention (Bahdanau et al. 2015): a feed-forward network compares query and key."""

import keras
from keras import ops

from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.numerics import at_least_float32

LOWEST = -1e9


@keras.saving.register_keras_serializable("t2t_keras")
class AdditiveAttention(OutputShapes, keras.layers.Layer):
    """Computes the weights softmax(v · tanh(W q + U k)) and the weighted mean of the memory.

    Args:
        units: width of the hidden layer.

    Call arguments:
        x: queries `[batch, queries, width]`.
        keys: output of `keys_of`, `[batch, length, units]`.
        memory: `[batch, length, memory_width]`.
        mask: boolean `[batch, length]`, True at real tokens.

    Returns:
        Contexts `[batch, queries, memory_width]` and weights `[batch, queries, length]`.

    References:
        Bahdanau et al. 2015 (arXiv 1409.0473).
    """

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        options = {"use_bias": False, "dtype": self.dtype_policy}
        self.query = keras.layers.Dense(units, **options, name="query")
        self.key = keras.layers.Dense(units, **options, name="key")
        self.score = keras.layers.Dense(1, **options, name="score")

    def build(self, x_shape, memory_shape):
        self.query.build(x_shape)
        self.key.build(memory_shape)
        self.score.build((None, None, self.units))

    def compute_output_shape(self, x_shape, memory_shape):
        return (*x_shape[:-1], memory_shape[-1])

    def keys_of(self, memory):
        return self.key(memory)

    def call(self, x, keys, memory, mask):
        hidden = ops.tanh(self.query(x)[:, :, None] + keys[:, None])
        scores = at_least_float32(self.score(hidden)[..., 0])
        weights = ops.softmax(ops.where(mask[:, None], scores, LOWEST), axis=-1)
        return ops.matmul(ops.cast(weights, memory.dtype), memory), weights

    def get_config(self):
        return {**super().get_config(), "units": self.units}
