"""The flags of commands that translate with a finished run."""

import dataclasses

from absl import flags

BEAM = flags.DEFINE_integer("beam", None, "Hypotheses pursued. 1: greedy. None: the run's.")
ALPHA = flags.DEFINE_float("alpha", None, "Of the length penalty. None: the run's.")
EXTRA_LENGTH = flags.DEFINE_integer("extra_length", None, "Tokens more than the source's.")


def search_config(config, **changes):
    """A run's `SearchConfig` with what the flags change, and with `changes` that are not None."""
    given = {"beam": BEAM.value, "alpha": ALPHA.value, "extra_length": EXTRA_LENGTH.value}
    given = {name: value for name, value in (given | changes).items() if value is not None}
    config = dataclasses.replace(config, **given)
    config.validate()
    return config
