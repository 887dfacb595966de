"""The flag of every table: where its figures are kept."""

from absl import flags

OUTPUT = flags.DEFINE_string("output", None, "The folder for everything. None: reproduced/TABLE.")
