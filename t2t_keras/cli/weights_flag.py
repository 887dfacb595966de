"""The flag of every command that uses a finished run: which of its weights."""

from absl import flags

WEIGHTS = flags.DEFINE_string("weights", None, "averaged, best, newest, or a step's number.")
