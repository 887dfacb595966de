"""Full and restricted self-attention over growing lengths n (Table 1)."""

import functools

import keras
from absl import flags
from keras import ops

from t2t_keras.cli.benchmarks.lengths import LENGTHS, lengths
from t2t_keras.cli.benchmarks.timing import ROUNDS, medians_of
from t2t_keras.layers import LocalSelfAttention, MultiHeadAttention

NEIGHBOURHOOD = flags.DEFINE_integer("neighbourhood", 65, "r of the restricted self-attention.")
HEADS = flags.DEFINE_integer("heads", 8, "Heads h.")
WIDTH = flags.DEFINE_integer("d_model", 512, "Width of the layer.")


def measure():
    layers = {
        "full": MultiHeadAttention(HEADS.value, WIDTH.value),
        f"r = {NEIGHBOURHOOD.value}": LocalSelfAttention(
            HEADS.value, WIDTH.value, NEIGHBOURHOOD.value
        ),
    }
    print(
        f"Self-attention, forward, one sequence of n positions, d_model = {WIDTH.value}, "
        f"h = {HEADS.value}, float32, {keras.backend.backend()}, {ROUNDS.value} rounds"
    )
    print(f"{'':<10}" + "".join(f"{f'n = {length}':>20}" for length in lengths(LENGTHS.value)))
    for name, layer in layers.items():
        layer.build((1, None, WIDTH.value))
        forward = as_one_call(layer)
        inputs = [
            keras.random.normal((1, length, WIDTH.value)) for length in lengths(LENGTHS.value)
        ]
        medians = medians_of([functools.partial(forward, x) for x in inputs], ROUNDS.value)
        line = f"{name:<10}"
        for i, median in enumerate(medians):
            ratio = f"({median / medians[i - 1]:.2f})" if i else ""
            line += f"{1e3 * median:>10.1f} ms{ratio:>7}"
        print(line, flush=True)


def as_one_call(layer):
    """The layer as one compiled function that returns when its result is there."""
    if keras.backend.backend() == "jax":
        import jax

        function = jax.jit(layer)
    else:
        import tensorflow as tf

        function = tf.function(layer)
    return lambda x: ops.convert_to_numpy(ops.sum(function(x)))
