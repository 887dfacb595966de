"""The layer of ConvS2S: a convolution, gated linear units and a scaled residual connection."""

import keras
from keras import ops

from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.rivals.convolution import Convolution

ROOT_HALF = 0.5**0.5  # factor that preserves the variance of a sum of two terms


def scaled_linear(units, **options):
    """Returns a `Dense` layer that initially preserves the variance of its inputs."""
    initializer = keras.initializers.VarianceScaling(1.0, "fan_in", "untruncated_normal")
    return keras.layers.Dense(units, kernel_initializer=initializer, **options)


@keras.saving.register_keras_serializable("t2t_keras")
class GatedConvolution(OutputShapes, keras.layers.Layer):
    """A · σ(B), where a convolution computes A and B.

    The residual connection is a separate method, `joined`, because a decoder layer applies
    attention between the two.

    Args:
        units: width of the output.
        kernel: number of positions in a window.
        causal: whether the window of a position ends there.
        dropout: dropout rate of the convolution's input.

    Call arguments:
        x: `[batch, length, width]`.
        mask: boolean `[batch, length]`, True at real tokens. If None, all tokens are real.

    Returns:
        `[batch, length, units]`.

    Example:

    >>> layer = GatedConvolution(units=16, kernel=3)
    >>> x = keras.random.normal((2, 10, 8))
    >>> outputs = layer.joined(x, layer(x))  # [2, 10, 16]

    References:
        Gehring et al. 2017 (arXiv 1705.03122), §3.2, §3.4, §3.5; Dauphin et al. 2017 (arXiv
        1612.08083).
    """

    def __init__(self, units, kernel, causal=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units, self.kernel, self.causal, self.rate = units, kernel, causal, dropout
        dtype = self.dtype_policy
        self.dropout = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")
        # The gate is initially ½, which divides the variance by 4. Dropout divides it by 1 − rate.
        gain = 4 * (1 - dropout)
        self.convolution = Convolution(
            2 * units, kernel, causal=causal, gain=gain, dtype=dtype, name="convolution"
        )
        self.shortcut = None

    def build(self, x_shape, mask_shape=None):
        self.width = x_shape[-1]
        self.dropout.build(x_shape)
        self.convolution.build(x_shape)
        if self.width != self.units:
            self.shortcut = scaled_linear(self.units, dtype=self.dtype_policy, name="shortcut")
            self.shortcut.build(x_shape)

    def output_shape_of(self, shape):
        return (*shape[:-1], self.units)

    def call(self, x, mask=None, training=None):
        return gated(self.convolution(self.dropout(x, training=training), mask=mask))

    def decode_step(self, x, position, cache, beams, visible):
        """See `Convolution.decode_step`."""
        y, cache = self.convolution.decode_step(x, position, cache, beams, visible)
        return gated(y), cache

    def joined(self, x, y):
        """Returns the scaled sum of x, the layer's input, and y."""
        return (y + (x if self.shortcut is None else self.shortcut(x))) * ROOT_HALF

    def get_config(self):
        settings = {"units": self.units, "kernel": self.kernel, "causal": self.causal}
        return {**super().get_config(), **settings, "dropout": self.rate}


def gated(x):
    values, gates = ops.split(x, 2, axis=-1)
    return values * ops.sigmoid(gates)
