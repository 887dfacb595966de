"""Times full and restricted self-attention at growing lengths n (Table 1)."""

import functools

from absl import flags

from t2t_keras.cli.benchmarks.table import ROUNDS
from t2t_keras.cli.flags.list_flag import define_list

LENGTHS = define_list("lengths", ["1024", "2048", "4096", "8192"], "attention: sequence lengths n.")
NEIGHBOURHOOD = flags.DEFINE_integer(
    "neighbourhood", 65, "attention: neighbourhood r of restricted self-attention."
)
HEADS = flags.DEFINE_integer("heads", 8, "attention: number of heads h.")
D_MODEL = flags.DEFINE_integer("d_model", 512, "attention: width of the layers.")
FLAGS, READS_CONFIG = (LENGTHS, NEIGHBOURHOOD, HEADS, D_MODEL, ROUNDS), False


def measure():
    import keras

    from t2t_keras.layers import LocalSelfAttention, MultiHeadAttention
    from t2t_keras.reproduction.timing import median_seconds, sorted_lengths

    d_model, heads, r = D_MODEL.value, HEADS.value, NEIGHBOURHOOD.value
    lengths = sorted_lengths(LENGTHS.value)
    layers = {
        "full": MultiHeadAttention(heads, d_model),
        f"r = {r}": LocalSelfAttention(heads, d_model, r),
    }
    print(
        f"Self-attention, forward, one sequence of n positions, d_model = {d_model}, "
        f"h = {heads}, float32, {keras.backend.backend()}, {ROUNDS.value} rounds"
    )
    print(f"{'':<10}" + "".join(f"{f'n = {length}':>20}" for length in lengths))
    for name, layer in layers.items():
        layer.build((1, None, d_model))
        forward = compiled_call(layer)
        inputs = [keras.random.normal((1, length, d_model)) for length in lengths]
        medians = median_seconds([functools.partial(forward, x) for x in inputs], ROUNDS.value)
        line = f"{name:<10}"
        for i, median in enumerate(medians):
            ratio = f"({median / medians[i - 1]:.2f})" if i else ""
            line += f"{1e3 * median:>10.1f} ms{ratio:>7}"
        print(line, flush=True)


def compiled_call(layer):
    """Compiles a layer into a function that returns once its result has been computed."""
    import keras

    if keras.backend.backend() == "jax":
        import jax

        function = jax.jit(layer)
    else:
        import tensorflow as tf

        function = tf.function(layer)
    return lambda x: keras.ops.convert_to_numpy(keras.ops.sum(function(x)))
