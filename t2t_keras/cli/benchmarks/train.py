"""Measures full training steps on a synthetic batch without padding."""

from absl import flags

from t2t_keras.cli.flags.config_flag import CONFIG

ROWS = flags.DEFINE_integer("rows", 32, "train: sentence pairs per batch.", lower_bound=1)
LENGTH = flags.DEFINE_integer("length", 32, "train: tokens per sentence.", lower_bound=2)
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

    from pipelines.batches.assembly import batches
    from t2t_keras.reproduction.gpu import parts, training_speed

    config, length = CONFIG.value, LENGTH.value
    config.validate()
    size = parts.Size(ROWS.value * length, length, 1, ROUNDS.value, PRODUCT)
    batch = next(batches(*training_speed.equal_lengths(config, size)))
    print(f"{config.training.precision}, {keras.config.backend()}, median of {ROUNDS.value} steps")
    for row in training_speed.speed(config, config.compiled_model(metrics=[]), batch, size):
        print(parts.line_of(row))
