"""The flag of every command that uses a trained run's weights."""

from absl import flags

WEIGHTS = flags.DEFINE_string(
    "weights",
    None,
    "Weights to use: averaged, best, newest, or the step of a checkpoint. Default: averaged if "
    "there are averaged weights, else newest.",
)
