"""Positional encodings (§3.5): fixed sinusoids, or a trained table.

`POSITIONAL_ENCODINGS` lists the choices of `TransformerConfig.positions`. An encoding may act on
the embeddings, as both encodings of the paper do, on the queries and keys of self-attention, and on
its scores (relative_bias.py).
"""

from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from pipelines.registry import Registry
from t2t_keras.checks import check, check_integer, check_sequence
from t2t_keras.layers.keras_interface.output_shapes import OutputShapes
from t2t_keras.layers.numerics import at_least_float32
from t2t_keras.layers.relative_bias import ALiBiBias, T5Bias


@keras.saving.register_keras_serializable("t2t_keras")
class PositionalEncoding(OutputShapes, keras.layers.Layer):
    """Base class of the positional encodings. It leaves the embeddings unchanged.

    Args:
        offset: index of the first position. The paper counts from 0.

    Call arguments:
        x: `[batch, length, d_model]`.
        start: number of positions before `x`, an int or a scalar tensor; 0 for whole sequences.

    Returns:
        `x` with its positions encoded.
    """

    longest = None  # maximum number of positions; None: no limit

    def __init__(self, offset=0, **kwargs):
        super().__init__(**kwargs)
        check_integer("offset", offset, at_least=0)
        self.offset = offset

    def call(self, x, start=0):
        return x

    def check_length(self, length, start=0):
        """Raises `ValueError` for positions beyond `longest` if both arguments are ints."""
        known = isinstance(length, int) and isinstance(start, int)
        if self.longest is not None and known and start + length > self.longest:
            raise ValueError(
                f"A sequence must have at most {self.longest} positions, the limit of its "
                f"positional encoding. Received: {start + length} positions. Shorten the "
                "sequence, or use an encoding without a limit, such as sinusoidal positions"
            )


@keras.saving.register_keras_serializable("t2t_keras")
class SinusoidalPositionalEncoding(PositionalEncoding):
    """Adds the paper's sinusoids. It has no weights and no length limit.

    Args:
        interleaved: whether sines and cosines alternate, as in the paper. False: all sines come
            first, then all cosines.
        largest_is_1: use the exponents `i / (d_model/2 − 1)`, whose last one is exactly 1, as
            in tensor2tensor. False: `2i / d_model`. None: the opposite of `interleaved`.
        offset: index of the first position. The paper counts from 0.

    Call arguments:
        x: `[batch, length, d_model]`.
        start: number of positions before `x`, an int or a scalar tensor.

    Returns:
        `x` plus the encoding of its positions.

    Example:

    >>> encoded = SinusoidalPositionalEncoding()(keras.ops.zeros((1, 1, 4)))
    >>> keras.ops.convert_to_numpy(encoded).tolist()  # position 0
    [[[0.0, 1.0, 0.0, 1.0]]]

    References:
        Vaswani et al. 2017, §3.5.
    """

    def __init__(self, interleaved=True, offset=0, largest_is_1=None, **kwargs):
        super().__init__(offset, **kwargs)
        self.interleaved = interleaved
        self.largest_is_1 = not interleaved if largest_is_1 is None else largest_is_1

    def build(self, x_shape):
        check_sequence("x", x_shape)
        self.check_width(x_shape[-1])

    def check_width(self, d_model):
        """Checks that d_model is even, and with `largest_is_1` that d_model / 2 − 1 is not 0."""
        least = 4 if self.largest_is_1 else 2
        allowed = f"even{' and at least 4' if least == 4 else ''} with sinusoidal positions"
        check(d_model % 2 == 0 and d_model >= least, "d_model", d_model, allowed)

    def call(self, x, start=0):
        _, length, d_model = ops.shape(x)
        positions = ops.arange(length, dtype="int32") + start + self.offset
        positions = ops.cast(positions, at_least_float32(x).dtype)
        return x + ops.cast(self.encodings(positions, d_model), x.dtype)

    def encodings(self, positions, d_model):
        """Computes the encodings `[length, d_model]` of float positions `[length]`.

        `PE(pos, 2i) = sin(a)`, `PE(pos, 2i+1) = cos(a)`, `a = pos / 10000^(2i/d_model)`.
        """
        half = d_model // 2
        exponents = np.arange(half) / (half - 1 if self.largest_is_1 else half)
        dtype = keras.backend.standardize_dtype(positions.dtype)
        frequencies = ops.convert_to_tensor((10000.0**-exponents).astype(dtype))
        angles = positions[:, None] * frequencies[None, :]  # [length, d_model / 2]
        waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=2 if self.interleaved else 1)
        return ops.reshape(waves, (-1, d_model))


@keras.saving.register_keras_serializable("t2t_keras")
class LearnedPositionalEncoding(PositionalEncoding):
    """Adds a trained vector for each position (Table 3, row E).

    A sequence that is longer than the table raises an error. A graph that is traced with unknown
    lengths cannot raise it; there, positions beyond the table become NaN.

    Args:
        max_length: number of rows of the table.
        offset: row of the first position.

    Call arguments:
        x: `[batch, length, d_model]`.
        start: number of positions before `x`, an int or a scalar tensor.

    Returns:
        `x` plus the encoding of its positions.

    Example:

    >>> positions = LearnedPositionalEncoding(max_length=100)
    >>> outputs = positions(keras.random.normal((2, 10, 512)))  # [2, 10, 512]
    """

    def __init__(self, max_length, offset=0, **kwargs):
        super().__init__(offset, **kwargs)
        check_integer("max_length", max_length)
        check(offset < max_length, "offset", offset, f"below max_length={max_length}")
        self.max_length = max_length

    @property
    def longest(self):
        return self.max_length - self.offset

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
        rows = ops.arange(length, dtype="int32") + start + self.offset
        # XLA cannot raise errors, and the lookup alone would silently return the last row.
        encoding = ops.take(self.table, ops.minimum(rows, self.max_length - 1), axis=0)
        return x + ops.where(rows[:, None] < self.max_length, encoding, float("nan"))


class Kind(NamedTuple):
    """A kind of positional encoding.

    Example, biases that fall with the logarithm of the distance. To use the kind, add it to
    `POSITIONAL_ENCODINGS` under a new name:

    >>> def logarithmic(num_heads, causal, **layer):
    ...     def bias(offsets):
    ...         distances = ops.cast(ops.abs(offsets), "float32")
    ...         return -ops.expand_dims(ops.log1p(distances), 0)  # [1, queries, keys]
    ...     return bias
    >>> kind = POSITIONAL_ENCODINGS["none"]._replace(bias=logarithmic)
    """

    # Creates the `PositionalEncoding` of the embeddings from a TransformerConfig and the keyword
    # arguments of any Keras layer. Raises ValueError if the settings are wrong.
    make: Callable
    # Encodes queries or keys of self-attention: a function of x, `[..., length, d_k]`, and its
    # positions, int32 `[length]`, or a scalar if all of x is at one position. None: the kind
    # acts only on the embeddings.
    encode_heads: Callable | None = None
    # Makes the biases that are added to the scores of self-attention. It takes the number of heads,
    # whether the attention is causal, and the keyword arguments of any Keras layer, and returns a
    # layer or a function of the offsets of keys from queries, int32 `[queries, keys]`, to biases
    # `[heads or 1, queries, keys]`. None: no biases.
    bias: Callable | None = None


def sinusoidal(**options):
    """Returns a kind of sinusoids, given further arguments of `SinusoidalPositionalEncoding`."""

    def make(config, **layer):
        encoding = SinusoidalPositionalEncoding(offset=config.position_offset, **options, **layer)
        encoding.check_width(config.d_model)
        return encoding

    return Kind(make)


def learned(config, **layer):
    offset, length = config.position_offset, config.max_length
    allowed = f"below max_length={length} with learned positions"
    check(offset < length, "position_offset", offset, allowed)
    return LearnedPositionalEncoding(length, offset, **layer)


def on_heads_only(bias=None):
    """Returns a kind that leaves the embeddings unchanged."""

    def make(config, **layer):
        offset, allowed = config.position_offset, f"0 with positions={config.positions!r}"
        check(offset == 0, "position_offset", offset, allowed)
        return PositionalEncoding(**layer)

    return Kind(make, bias=bias)


# The choices of `TransformerConfig.positions`.
POSITIONAL_ENCODINGS = Registry(
    "POSITIONAL_ENCODINGS",
    "model.positions",
    {
        "sinusoidal": sinusoidal(),
        "learned": Kind(learned),
        "none": on_heads_only(),  # no encoding, as a baseline
        "concatenated": sinusoidal(interleaved=False),  # tensor2tensor's sinusoids
        # the paper's sinusoids in a different order, as in Hugging Face's Marian models
        "hugging_face": sinusoidal(interleaved=False, largest_is_1=False),
        # relative biases
        "t5": on_heads_only(lambda heads, causal, **layer: T5Bias(heads, causal, **layer)),
        "alibi": on_heads_only(lambda heads, causal, **layer: ALiBiBias(heads, **layer)),
    },
)
