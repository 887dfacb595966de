"""ByteNet's residual block: a dilated convolution between a narrowing and a widening product."""

import keras
from keras import ops

from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.layer_norm import LayerNorm
from t2t_keras.rivals.convolution import Convolution


@keras.saving.register_keras_serializable("t2t_keras")
class DilatedBlock(OutputShapes, keras.layers.Layer):
    """x + widen(ReLU(convolve(ReLU(narrow(ReLU(x)))))), with a layer norm before each ReLU.

    Args:
        units: width of the convolution.
        kernel: number of positions in the window of the convolution.
        dilation: distance between neighbors in the window.
        causal: whether the window of a position ends there.
        dropout: dropout rate of the output, before it is added to x.

    Call arguments:
        x: `[batch, length, width]`.
        mask: boolean `[batch, length]`, True at real tokens. If None, all tokens are real.

    Returns:
        `[batch, length, width]`.

    Example:

    >>> block = DilatedBlock(units=16, kernel=3, dilation=4)
    >>> outputs = block(keras.random.normal((2, 10, 32)))  # [2, 10, 32]

    References:
        Kalchbrenner et al. 2016 (arXiv 1610.10099), §3.6, §3.7.
    """

    def __init__(self, units, kernel, dilation, causal=False, dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units, self.kernel, self.dilation = units, kernel, dilation
        self.causal, self.rate = causal, dropout
        dtype = self.dtype_policy
        self.norms = [LayerNorm(epsilon=1e-6, dtype=dtype, name=f"norm_{i}") for i in range(3)]
        self.narrow = keras.layers.Dense(units, dtype=dtype, name="narrow")
        self.convolution = Convolution(
            units, kernel, dilation, causal, dtype=dtype, name="convolution"
        )
        self.dropout = keras.layers.Dropout(dropout, dtype=dtype, name="dropout")

    def build(self, x_shape, mask_shape=None):
        inside = (*x_shape[:-1], self.units)
        for norm, shape in zip(self.norms, (x_shape, inside, inside), strict=True):
            norm.build(shape)
        self.narrow.build(x_shape)
        self.convolution.build(inside)
        self.widen = keras.layers.Dense(x_shape[-1], dtype=self.dtype_policy, name="widen")
        self.widen.build(inside)
        self.dropout.build(x_shape)

    def call(self, x, mask=None, training=None):
        y = self.convolution(self.narrowed(x, training), mask=mask)
        return self.joined(x, y, training)

    def decode_step(self, x, position, cache, beams, visible):
        """See `Convolution.decode_step`."""
        y, cache = self.convolution.decode_step(self.narrowed(x), position, cache, beams, visible)
        return self.joined(x, y), cache

    def narrowed(self, x, training=None):
        x = self.narrow(self.activated(0, x, training))
        return self.activated(1, x, training)

    def joined(self, x, y, training=None):
        y = self.widen(self.activated(2, y, training))
        return x + self.dropout(y, training=training)

    def activated(self, norm, x, training):
        return ops.relu(self.norms[norm](x, training=training))

    def get_config(self):
        settings = ("units", "kernel", "dilation", "causal")
        settings = {name: getattr(self, name) for name in settings}
        return {**super().get_config(), **settings, "dropout": self.rate}
