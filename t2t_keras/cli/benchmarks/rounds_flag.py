"""The flag --rounds, shared by the subjects that are timed in rounds."""

from absl import flags

ROUNDS = flags.DEFINE_integer(
    "rounds",
    7,
    "attention, data, decode, train: timed calls of each measurement; medians are printed.",
    lower_bound=1,
)
