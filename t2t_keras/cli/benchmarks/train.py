"""Measures the tokens per second of full training steps on synthetic batches without padding."""

from absl import flags

from t2t_keras.cli.benchmarks.rounds_flag import ROUNDS
from t2t_keras.cli.config_flag import CONFIG

ROWS = flags.DEFINE_integer("rows", 32, "train, decode: sentence pairs per batch.", lower_bound=1)
LENGTH = flags.DEFINE_integer(
    "length",
    32,
    "train: tokens per sentence. decode: number of search steps.",
    lower_bound=1,
)
FLAGS, READS_CONFIG = (ROWS, LENGTH, ROUNDS), True
PRODUCT = 2048  # rows and columns of the matrices whose product measures the machine's speed


def measure():
    import keras
    from keras import ops

    from t2t_keras.reproduction.timing import median_seconds

    config = CONFIG.value
    config.validate()
    operations = operations_of_step(config.model.resolved(), ROWS.value, LENGTH.value)
    step = new_step(config)
    matrix = keras.random.normal((PRODUCT, PRODUCT))
    product = compiled(lambda x: ops.sum(ops.matmul(x, x)))
    seconds, product_seconds = median_seconds([step, lambda: float(product(matrix))], ROUNDS.value)
    rows, length = ROWS.value, LENGTH.value
    rate = operations / seconds
    product_rate = 2 * PRODUCT**3 / product_seconds
    print(
        f"{rows} pairs of {length} + {length} tokens, {config.training.precision}, "
        f"{keras.config.backend()}, medians of {ROUNDS.value} rounds"
    )
    print(f"{2 * rows * length / seconds:>12,.0f} tokens per second ({seconds:.3f} s per step)")
    print(f"{rate / 1e9:>12,.0f} GFLOP/s in matrix products")
    print(
        f"{rate / product_rate:>12.0%} of a {PRODUCT}³ product's {product_rate / 1e9:,.0f} GFLOP/s"
    )


def new_step(config):
    """Returns a function that performs one update and waits for its result."""
    import keras
    import numpy as np

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
    import keras

    if keras.config.backend() == "jax":
        import jax

        return jax.jit(function)
    import tensorflow as tf

    return tf.function(function)


def operations_of_step(model, rows, length):
    """Returns the number of floating-point operations in a step's matrix products.

    A multiplication counts as two operations, and the backward pass as two forward passes.
    """
    from t2t_keras.checks import check
    from t2t_keras.transformer_config import TransformerConfig

    allowed = "those of a Transformer, whose operations can be counted"
    check(isinstance(model, TransformerConfig), "config.model", type(model).__name__, allowed)
    d, tokens = model.d_model, rows * length
    heads = model.num_heads * (model.d_k + model.d_v)
    attention = 2 * d * heads  # query, key, value, output
    feed_forward = 2 * d * model.d_ff
    encoder, decoder = model.layers
    attentions, blocks = encoder + 2 * decoder, encoder + decoder
    weights = attentions * attention + blocks * feed_forward + model.vocab_size * d
    # Each position with every other one, or with those that restricted attention sees.
    seen = [min(length, r or length) for r in (model.neighbourhood, model.decoder_neighbourhood)]
    products = heads * (encoder * seen[0] + decoder * (seen[1] + length))
    return 3 * 2 * tokens * (weights + products)
