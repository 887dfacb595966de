"""Tokens a second of a full training step on synthetic batches without padding."""

import keras
import numpy as np
from absl import flags
from keras import ops

from t2t_keras.cli.benchmarks.timing import ROUNDS, medians_of
from t2t_keras.cli.main import CONFIG

ROWS = flags.DEFINE_integer("rows", 32, "train, decode: sentence pairs in a batch.", lower_bound=1)
LENGTH = flags.DEFINE_integer(
    "length", 32, "train: tokens in a sentence. decode: steps.", lower_bound=1
)
PRODUCT = 2048  # rows and columns of the matrix product that tells the machine's rate


def measure():
    config = CONFIG.value
    config.validate()
    step = make_step(config)
    matrix = keras.random.normal((PRODUCT, PRODUCT))
    product = compiled(lambda x: ops.sum(ops.matmul(x, x)))
    seconds, of_product = medians_of([step, lambda: float(product(matrix))], ROUNDS.value)
    work = floating_point_operations(config.model.resolved(), ROWS.value, LENGTH.value) / seconds
    rate = 2 * PRODUCT**3 / of_product
    rows, length = ROWS.value, LENGTH.value
    print(
        f"{rows} pairs of {length} + {length} tokens, {config.training.precision}, "
        f"{keras.config.backend()}, medians of {ROUNDS.value} rounds"
    )
    print(f"{2 * rows * length / seconds:>12,.0f} tokens a second ({seconds:.3f} s a step)")
    print(f"{work / 1e9:>12,.0f} GFLOP/s in matrix products")
    print(f"{work / rate:>12.0%} of a {PRODUCT}³ product's {rate / 1e9:,.0f} GFLOP/s")


def make_step(config):
    """A call that makes one update and waits for it."""
    model = config.compiled_model(metrics=[])
    model.optimizer.build(model.trainable_variables)
    random = np.random.default_rng(0)
    shape = (ROWS.value, LENGTH.value)
    source, labels = random.integers(4, model.config.vocab_size, (2, *shape)).astype("int32")
    target = np.insert(labels[:, :-1], 0, 1, axis=1)
    inputs = {"source": source, "target": target}
    if keras.config.backend() != "tensorflow":
        return lambda: model.train_on_batch(inputs, labels)
    import tensorflow as tf

    batch = tf.nest.map_structure(tf.constant, (inputs, labels))
    step = tf.function(model.train_step, autograph=False)
    return lambda: float(step(batch)["loss"])


def compiled(function):
    if keras.config.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function)


def floating_point_operations(model, rows, length):
    """Of all matrix products of a step: two for each multiplication, backward twice forward."""
    d, tokens = model.d_model, rows * length
    heads = model.num_heads * (model.d_k + model.d_v)
    attention = 2 * d * heads  # query, key, value, output
    feed_forward = 2 * d * model.d_ff
    weights = model.num_layers * (3 * attention + 2 * feed_forward) + model.vocab_size * d
    products = 3 * model.num_layers * heads * length  # each position with each other one
    return 3 * 2 * tokens * (weights + products)
