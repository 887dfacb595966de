"""A recurrent layer that reads whole sequences in training and single positions in decoding."""

import keras
from keras import ops

from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.rivals.histories import History


class Recurrence(OutputShapes, keras.layers.Layer):
    """An LSTM that reads from the first position to the last, or backward.

    Args:
        units: width of the states.
        backward: whether to read each sequence from its last real token to its first.

    Call arguments:
        x: `[batch, length, width]`.
        lengths: numbers of real tokens, `[batch]`. Required by a backward layer.
        step: a `Step`, whose hypotheses take the place of the positions.

    Returns:
        `[batch, length, units]`. Outputs at padding are meaningless.

    References:
        Hochreiter and Schmidhuber 1997.
    """

    def __init__(self, units, backward=False, **kwargs):
        super().__init__(**kwargs)
        self.units, self.backward = units, backward
        self.history = History(1, 2 * units)  # the hidden state and the cell state
        # On GPUs, training and search are compiled with XLA, which cannot run cuDNN's LSTM.
        self.lstm = keras.layers.LSTM(
            units, return_sequences=True, use_cudnn=False, dtype=self.dtype_policy, name="lstm"
        )

    def build(self, x_shape, lengths_shape=None):
        self.lstm.build(x_shape)

    def output_shape_of(self, shape):
        return (*shape[:-1], self.units)

    def call(self, x, lengths=None, step=None):
        if step is not None:
            states = ops.reshape(step.earlier(self.history, 1), (-1, 2 * self.units))
            rows = ops.reshape(x, (-1, ops.shape(x)[-1]))  # a width may be unknown in a graph
            output, states = self.lstm.cell(rows, ops.split(states, 2, axis=-1))
            step.remember(self.history, ops.concatenate(states, axis=-1))
            return ops.reshape(output, (-1, step.beams, self.units))
        if not self.backward:
            return self.lstm(x)
        return reversed_sequences(self.lstm(reversed_sequences(x, lengths)), lengths)

    def half_of_product(self, x):
        """Returns the input's contribution to the first two gates, `[batch, length, 2 · units]`."""
        kernel = self.lstm.cell.kernel[:, : 2 * self.units]
        return ops.matmul(x, ops.cast(kernel, x.dtype))


def reversed_sequences(x, lengths):
    """Reverses the first `lengths[i]` vectors of row i."""
    positions = ops.arange(ops.shape(x)[1], dtype="int32")[None]
    from_end = ops.cast(lengths, "int32")[:, None] - 1 - positions
    indices = ops.where(from_end >= 0, from_end, positions)
    return ops.take_along_axis(x, indices[..., None], axis=1)
