"""The flag --export, shared by the commands that write new weights of a run."""

from absl import flags

EXPORT = flags.DEFINE_bool(
    "export", True, "Write a model for LiteRT of the new weights, which translates on CPUs."
)
