"""Measures the tokens per second of full training steps on synthetic batches without padding."""

from absl import flags

from t2t_keras.cli.flags.config_flag import CONFIG

ROWS = flags.DEFINE_integer("rows", 32, "train: sentence pairs per batch.", lower_bound=1)
LENGTH = flags.DEFINE_integer("length", 32, "train: tokens per sentence.", lower_bound=1)
ROUNDS = flags.DEFINE_integer(
    "rounds",
    7,
    "train, decode, data: timed calls of each measurement; medians are printed.",
    lower_bound=1,
)
FLAGS = (ROWS, LENGTH, ROUNDS)
PRODUCT = 2048  # rows and columns of the matrices whose product measures the machine's speed


def measure():
    import keras
    from keras import ops

    from t2t_keras.parameters import training_operations
    from t2t_keras.reproduction.timing import median_seconds

    config = CONFIG.value
    config.validate()
    step = new_step(config)
    matrix = keras.random.normal((PRODUCT, PRODUCT))
    product = compiled(lambda x: ops.sum(ops.matmul(x, x)))
    seconds, product_seconds = median_seconds([step, lambda: float(product(matrix))], ROUNDS.value)
    rows, length = ROWS.value, LENGTH.value
    rate = training_operations(config.model, rows, length) / seconds
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
