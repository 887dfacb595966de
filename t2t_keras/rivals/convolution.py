"""A convolution over whole sequences in training and over single positions in decoding."""

import keras
from keras import ops

from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.masks import reach
from t2t_keras.rivals.histories import History


def scaled_linear(units, gain=1.0, **options):
    """Returns a `Dense` layer that initially multiplies the variance of its inputs by `gain`."""
    initializer = keras.initializers.VarianceScaling(gain, "fan_in", "untruncated_normal")
    return keras.layers.Dense(units, kernel_initializer=initializer, **options)


class Convolution(OutputShapes, keras.layers.Layer):
    """Multiplies each position's window, the concatenated vectors around it, by a matrix.

    Positions before the first and after the last token count as zeros, so the output has the length
    of the input and does not depend on padding.

    Args:
        units: width of the output.
        kernel: number of positions in a window.
        dilation: distance between neighbors in a window.
        causal: whether the window of a position ends there. If False, the window is centered on
            the position; if `kernel` is even, it extends further to the left.
        gain: variance of the outputs before training, for inputs with variance 1.

    Call arguments:
        x: `[batch, length, width]`.
        mask: boolean `[batch, length]`, True at real tokens. If None, all tokens are real. A
            causal convolution needs no mask.
        step: a `Step`, for a causal convolution. Its hypotheses take the place of the positions.

    Returns:
        `[batch, length, units]`.

    References:
        van den Oord et al. 2016 (arXiv 1609.03499).
    """

    def __init__(self, units, kernel, dilation=1, causal=False, gain=1.0, **kwargs):
        super().__init__(**kwargs)
        self.kernel, self.dilation, self.causal = kernel, dilation, causal
        self.product = scaled_linear(units, gain, dtype=self.dtype_policy, name="product")

    def build(self, x_shape, mask_shape=None):
        self.product.build((*x_shape[:-1], self.kernel * x_shape[-1]))
        self.history = History((self.kernel - 1) * self.dilation, width=x_shape[-1])

    def output_shape_of(self, shape):
        return (*shape[:-1], self.product.units)

    def call(self, x, mask=None, step=None):
        if step is not None:
            distances = range(self.history.kept, 0, -self.dilation)
            window = [step.earlier(self.history, distance) for distance in distances]
            if window:
                step.remember(self.history, x)
            return self.product(ops.concatenate([*window, x], axis=-1))
        if mask is not None:
            x = ops.where(mask[..., None], x, ops.zeros_like(x))
        length = ops.shape(x)[1]
        left, right = (side * self.dilation for side in reach(self.kernel, self.causal))
        padded = ops.pad(x, ((0, 0), (left, right), (0, 0)))
        starts = range(0, left + right + 1, self.dilation)
        windows = ops.concatenate([padded[:, i : i + length] for i in starts], axis=-1)
        return self.product(windows)
