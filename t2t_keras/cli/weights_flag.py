"""The flag --weights, shared by all commands that use a trained model."""

from absl import flags

WEIGHTS = flags.DEFINE_string(
    "weights",
    None,
    "Weights to use: averaged, best, newest, or the step of a checkpoint. Default: those that were "
    "chosen when training ended, usually averaged; before that, newest.",
)
