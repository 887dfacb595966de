"""The paper's recipes, made smaller by flags; and what those changed, to be said with every result.

--reduced takes a small config's settings, --divide the widths, --steps the length; whatever
--config.part.field=value names is changed last.
"""

import dataclasses
import math
import sys
from typing import NamedTuple

from absl import flags
from ml_collections import config_flags

from t2t_keras.experiment import Experiment, find_config, load_experiment

RUN = flags.DEFINE_string("run", None, "table2, table4: evaluate this run, and train none.")
DIVIDE = flags.DEFINE_integer("divide", None, "Divides every width of the models.", lower_bound=1)
DIVIDE_LAYERS = flags.DEFINE_integer("divide_layers", None, "Divides the layers.", lower_bound=1)
STEPS = flags.DEFINE_integer(
    "steps", None, "Of training, the warm-up in proportion.", lower_bound=1
)
REDUCED = flags.DEFINE_string("reduced", None, "A config for less data or less time.")
CHECKPOINTS = 72  # that twelve hours have, one every ten minutes (§5.2, §6.1)
# What changes no result, or is said elsewhere.
ASIDE = {
    *("data.folder", "data.toy_pairs", "data.dev_source", "data.dev_target", "data.dev_pairs"),
    *("training.log_every", "training.evaluate_every", "training.checkpoint_every"),
    *("training.checkpoint_minutes", "training.keep", "training.xla", "training.accumulate"),
    *("model.vocab_size", "data.vocabulary.symbols"),
}


class Recipe(NamedTuple):
    """What is trained, and what the paper trained.

    Args:
        config: the shipped config that it begins with.
        experiment: its settings with all changes.
        paper: the paper's settings.
    """

    config: str
    experiment: Experiment
    paper: Experiment

    def flags(self, part=""):
        """`--config` and what differs from it in a part or in all, for a command."""
        changed = differences(load_experiment(self.config), self.experiment)
        changes = [f"--config.{name}={after}" for name, (_, after) in changed.items()]
        return [
            f"--config={self.config}",
            *(c for c in changes if c.startswith(f"--config.{part}")),
        ]

    def reductions(self, trained=None):
        """What differs from the paper's settings and makes a difference, as texts.

        Args:
            trained: the settings of a run that is only evaluated; the search is this recipe's.
        """
        ours = self.experiment
        if trained is not None:
            ours = dataclasses.replace(trained, search=ours.search)
        changed = differences(self.paper, ours)
        return [
            f"{name} {shown(after)} (paper {shown(before)})"
            for name, (before, after) in changed.items()
            if name not in ASIDE
        ]


def made_smaller(config, keep=0):
    """The recipe of a shipped config, with what the flags change.

    Args:
        config: its name.
        keep: how many checkpoints a run must have at its end.
    """
    given = REDUCED.value or config
    paper, ours = load_experiment(config), load_experiment(given)
    ours.model = ours.model.divided(DIVIDE.value or 1, DIVIDE_LAYERS.value or 1)
    if STEPS.value:
        shorten(ours.training, STEPS.value)
    ours.training.keep = max(ours.training.keep, keep)
    override(ours)
    return Recipe(given, ours, paper)


def shorten(training, steps):
    """Another number of steps: warm-up in proportion, the same highest learning rate."""
    share = steps / training.steps
    warmup = max(1, round(training.warmup_steps * share))
    training.learning_rate *= math.sqrt(warmup / training.warmup_steps)
    training.warmup_steps, training.steps = warmup, steps
    training.evaluate_every = min(training.evaluate_every, steps)
    training.checkpoint_every = max(1, steps // CHECKPOINTS)


def override(experiment, kept=()):
    """Applies what the command line changes in all rows.

    Args:
        kept: the settings by which this row differs from others, which stay.
    """
    base = find_config("base")
    if given := [a for a in sys.argv if a.startswith("--config=") and a != f"--config={base}"]:
        raise ValueError(
            f"{given[0]}: each row of a table has a config of its own. --reduced=CONFIG gives a "
            "smaller one, --config.part.field=value changes a setting of all rows"
        )
    changes = config_flags.get_override_values(flags.FLAGS["config"])
    if "training.steps" in changes:
        raise ValueError("--steps=N says how many steps, and shortens the warm-up with them")
    for path, value in changes.items():
        *parts, field = path.split(".")
        settings = experiment
        for part in parts:
            settings = getattr(settings, part)
        if path not in kept:
            setattr(settings, field, value)
    experiment.validate()


def differences(before, after):
    """The settings that two experiments differ in: (before, after) by the setting's name."""
    before, after = (dict(settings(dataclasses.asdict(each))) for each in (before, after))
    return {name: (old, after[name]) for name, old in before.items() if old != after[name]}


def settings(nested, inside=""):
    for name, value in nested.items():
        if isinstance(value, dict):
            yield from settings(value, f"{inside}{name}.")
        else:
            yield f"{inside}{name}", tuple(value) if isinstance(value, list) else value


def shown(value):
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value
