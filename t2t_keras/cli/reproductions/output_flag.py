"""The flag of every table: where its figures are kept."""

from absl import flags

OUTPUT = flags.DEFINE_string("output", "reproduced", "The folder of the figures and the tables.")
