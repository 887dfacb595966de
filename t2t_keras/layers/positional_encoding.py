"""Where in the sequence a token stands (§3.5): fixed sinusoids, or a trained table.

Both layers add the encoding to the (scaled) embeddings. `start` is the number of the first
position they are given, so that decoding one position at a time uses the same code.
"""

import keras
import numpy as np
from keras import ops

from t2t_keras.checks import check, check_boolean, check_integer, check_sequence
from t2t_keras.layers.precision import at_least_float32


def sinusoids(positions, d_model, interleaved=True):
    """`PE(pos, 2i) = sin(pos / 10000^(2i/d_model))`, `PE(pos, 2i+1) = cos(same)`.

    Args:
        positions: float32 `[length]`.
        d_model: even width of the encoding.
        interleaved: sine and cosine side by side, as the paper writes it. False gives the
            form of tensor2tensor: all sines, then all cosines, and the exponents reach
            exactly 1, `i / (d_model/2 − 1)` instead of `2i / d_model`.

    Returns:
        `[length, d_model]`.
    """
    half = d_model // 2
    exponents = np.arange(half) / (half if interleaved else half - 1)
    dtype = keras.backend.standardize_dtype(positions.dtype)
    frequencies = ops.convert_to_tensor((10000.0**-exponents).astype(dtype))
    angles = positions[:, None] * frequencies[None, :]  # [length, d_model / 2]
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=2 if interleaved else 1)
    return ops.reshape(waves, (-1, d_model))


@keras.saving.register_keras_serializable("t2t_keras")
class SinusoidalPositionalEncoding(keras.layers.Layer):
    """Adds the paper's sinusoids. Has no weights and no longest length.

    Args:
        interleaved: see `sinusoids`.
        offset: number given to the first position. The paper counts from 0.

    Call arguments:
        x: `[batch, length, d_model]`.
        start: how many positions stand before `x`; a number or a scalar tensor.

    Returns:
        `x` plus the encoding of its positions.

    Example:

    >>> encoded = SinusoidalPositionalEncoding()(keras.ops.zeros((1, 1, 4)))
    >>> keras.ops.convert_to_numpy(encoded).tolist()  # position 0
    [[[0.0, 1.0, 0.0, 1.0]]]

    References:
        Vaswani et al. 2017, §3.5.
    """

    def __init__(self, interleaved=True, offset=0, **kwargs):
        super().__init__(**kwargs)
        check_boolean("interleaved", interleaved)
        check_integer("offset", offset, at_least=0)
        self.supports_masking = True
        self.interleaved = interleaved
        self.offset = offset

    def build(self, x_shape):
        check_sequence("x", x_shape)
        check_sinusoid_width(x_shape[-1], self.interleaved)

    def call(self, x, start=0):
        _, length, d_model = ops.shape(x)
        positions = ops.arange(length) + start + self.offset
        positions = ops.cast(positions, at_least_float32(x).dtype)
        return x + ops.cast(sinusoids(positions, d_model, self.interleaved), x.dtype)

    def get_config(self):
        return {
            **super().get_config(),
            "interleaved": self.interleaved,
            "offset": self.offset,
        }


@keras.saving.register_keras_serializable("t2t_keras")
class LearnedPositionalEncoding(keras.layers.Layer):
    """Adds a trained vector for each position (Table 3, row E).

    A longer sequence than the table is an error. Where the length is not known while a graph is
    traced, XLA could not raise one: there the positions beyond the table are NaN, so that it
    shows at once.

    Args:
        max_length: rows of the table.
        offset: row given to the first position.

    Call arguments:
        x: `[batch, length, d_model]`.
        start: how many positions stand before `x`; a number or a scalar tensor.

    Returns:
        `x` plus the encoding of its positions.

    Example:

    >>> positions = LearnedPositionalEncoding(max_length=100)
    >>> outputs = positions(keras.random.normal((2, 10, 512)))  # [2, 10, 512]
    """

    def __init__(self, max_length, offset=0, **kwargs):
        super().__init__(**kwargs)
        check_integer("max_length", max_length)
        check_integer("offset", offset, at_least=0)
        check(offset < max_length, "offset", offset, f"below max_length={max_length}")
        self.supports_masking = True
        self.max_length = max_length
        self.offset = offset

    def build(self, x_shape):
        check_sequence("x", x_shape)
        d_model = x_shape[-1]
        self.table = self.add_weight(
            shape=(self.max_length, d_model),
            initializer=keras.initializers.RandomNormal(stddev=d_model**-0.5),
            name="table",
        )

    def call(self, x, start=0):
        length = ops.shape(x)[1]
        self.check_length(length, start)
        rows = ops.arange(length) + start + self.offset
        encoding = ops.take(self.table, ops.minimum(rows, self.max_length - 1), axis=0)
        return x + ops.where(rows[:, None] < self.max_length, encoding, float("nan"))

    def check_length(self, length, start=0):
        """Refuses what lies beyond the table, wherever the lengths are known."""
        room = self.max_length - self.offset
        if isinstance(length, int) and isinstance(start, int) and start + length > room:
            raise ValueError(
                f"A sequence must not be longer than its learned positions, which end at "
                f"{room} (max_length={self.max_length}, offset={self.offset}). "
                f"Received: {start + length} positions. Shorten the sequence, or use "
                "sinusoidal positions, which have no end"
            )

    def get_config(self):
        return {
            **super().get_config(),
            "max_length": self.max_length,
            "offset": self.offset,
        }


def check_sinusoid_width(d_model, interleaved=True):
    """A sine and a cosine each: the width must be even, and tensor2tensor divides by d/2 − 1."""
    check(
        d_model % 2 == 0 and (interleaved or d_model >= 4),
        "d_model",
        d_model,
        f"even{'' if interleaved else ' and at least 4'} with sinusoidal positions",
    )
