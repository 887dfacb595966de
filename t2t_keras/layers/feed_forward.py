"""The position-wise feed-forward network (§3.3)."""

import functools

import keras
from keras import ops

from t2t_keras.checks import check_choice, check_integer

ACTIVATIONS = {
    "relu": ops.relu,
    "swish": ops.silu,
    "gelu": functools.partial(ops.gelu, approximate=False),
    # Approximations of GELU, which some systems also call "gelu".
    "gelu_tanh": functools.partial(ops.gelu, approximate=True),
    "gelu_sigmoid": lambda x: x * ops.sigmoid(1.702 * x),
}


@keras.saving.register_keras_serializable("t2t_keras")
class FeedForward(keras.layers.Layer):
    """`max(0, x W₁ + b₁) W₂ + b₂`, with the same weights at every position.

    Args:
        d_model: width of the output.
        d_ff: width of the inner layer.
        activation: "relu" as in the paper, or another name in `ACTIVATIONS`.

    Call arguments:
        x: `[batch, length, width]`, or for a decoding step `[rows, width]`.

    Returns:
        `[batch, length, d_model]`.

    Example:

    >>> feed_forward = FeedForward(d_model=512, d_ff=2048)
    >>> outputs = feed_forward(keras.random.normal((2, 10, 512)))  # [2, 10, 512]

    References:
        Vaswani et al. 2017, §3.3.
    """

    def __init__(self, d_model, d_ff, activation="relu", **kwargs):
        super().__init__(**kwargs)
        check_integer("d_model", d_model)
        check_integer("d_ff", d_ff)
        check_choice("activation", activation, ACTIVATIONS)
        self.supports_masking = True
        self.d_model = d_model
        self.d_ff = d_ff
        self.activation = activation
        self.inner = keras.layers.Dense(
            d_ff, activation=ACTIVATIONS[activation], dtype=self.dtype_policy, name="inner"
        )
        self.outer = keras.layers.Dense(d_model, dtype=self.dtype_policy, name="outer")

    def build(self, x_shape):
        self.inner.build(x_shape)
        self.outer.build((*x_shape[:-1], self.d_ff))

    def call(self, x):
        return self.outer(self.inner(x))

    def get_config(self):
        return {
            **super().get_config(),
            "d_model": self.d_model,
            "d_ff": self.d_ff,
            "activation": self.activation,
        }
