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
from t2t_keras.training.checkpoints import Checkpoints

DIVIDE = flags.DEFINE_integer("divide", None, "Divides every width of the models.", lower_bound=1)
DIVIDE_LAYERS = flags.DEFINE_integer("divide_layers", None, "Divides the layers.", lower_bound=1)
STEPS = flags.DEFINE_integer(
    "steps", None, "Of training, the warm-up in proportion.", lower_bound=1
)
REDUCED = flags.DEFINE_string("reduced", None, "A config for less data or less time.")
CHECKPOINTS = 72  # that twelve hours have, one every ten minutes (§5.2, §6.1)
# What no result depends on.
ASIDE = {
    *("data.folder", "data.toy_pairs", "data.dev_source", "data.dev_target", "data.dev_pairs"),
    *("training.log_every", "training.evaluate_every", "training.checkpoint_every"),
    *("training.checkpoint_minutes", "training.keep", "training.xla", "training.accumulate"),
    *("model.vocab_size", "data.vocabulary.symbols"),  # data.vocabulary.size says how many
}


class Recipe(NamedTuple):
    """What is trained, and what the paper trained.

    Args:
        config: the shipped config of the paper's settings.
        experiment: its settings with all changes.
        paper: its settings.
    """

    config: str
    experiment: Experiment
    paper: Experiment

    def flags(self):
        """All settings, for t2t-train."""
        return [f"--config={self.config}", *changes(self.paper, self.experiment)]

    def data_flags(self):
        """Those of the text, for t2t-prepare: the same for all recipes that share a text."""
        prepared = changes(load_experiment("base"), self.experiment)
        return ["--config=base", *(c for c in prepared if c.startswith("--config.data."))]

    def reductions(self, trained):
        """What differs from the paper's settings and makes a difference, as texts.

        Args:
            trained: the settings of the run that is told of; the search is this recipe's.
        """
        ours = dataclasses.replace(trained, search=self.experiment.search)
        changed = differences(self.paper, ours)
        return [
            f"{name} {shown(after)} (paper {shown(before)})"
            for name, (before, after) in changed.items()
            if name not in ASIDE
        ]

    def refuse_another(self, run):
        """Refuses to go on with a run that was trained in another way, or for longer.

        t2t-train itself would: a user may want to change the learning rate half-way. A table's
        figures have to be of what stands beside them.
        """
        if not run.config_file.exists():
            return
        before = run.experiment()
        changed = {
            name: values
            for name, values in differences(before, self.experiment).items()
            if name.startswith(("model.", "training.", "data.batches."))
            and name not in {*ASIDE, "training.steps"}
        }
        if changed:
            name, (old, new) = next(iter(changed.items()))
            raise ValueError(
                f"{run.folder} was trained with {name}={shown(old)}, and not {shown(new)}: keep "
                "the setting, or give another --output"
            )
        newest = max(Checkpoints(run.folder / "checkpoints").steps(), default=0)
        if newest > self.experiment.training.steps:
            raise ValueError(
                f"{run.folder} has been trained for {newest:,} steps, and not "
                f"{self.experiment.training.steps:,}: give another --output"
            )


def made_smaller(config, keep=0, checkpoints=CHECKPOINTS):
    """The recipe of a shipped config, with what the flags change.

    Args:
        config: its name.
        keep: how many checkpoints a run must have at its end.
        checkpoints: how many the paper's training wrote, of which as many are averaged.
    """
    paper, ours = load_experiment(config), load_experiment(REDUCED.value or config)
    ours.model = ours.model.divided(DIVIDE.value or 1, DIVIDE_LAYERS.value or 1)
    if STEPS.value:
        shorten(ours.training, STEPS.value, checkpoints)
    ours.training.keep = max(ours.training.keep, keep)
    override(ours)
    return Recipe(config, ours, paper)


def shorten(training, steps, checkpoints=CHECKPOINTS):
    """Another number of steps: warm-up in proportion, the same highest learning rate."""
    share = steps / training.steps
    warmup = max(1, round(training.warmup_steps * share))
    training.learning_rate *= math.sqrt(warmup / training.warmup_steps)
    training.warmup_steps, training.steps = warmup, steps
    training.evaluate_every = min(training.evaluate_every, steps)
    training.checkpoint_every = max(1, steps // checkpoints)


def override(experiment, kept=()):
    """Applies what the command line changes in all rows.

    Args:
        kept: the settings by which this row differs from others, which stay.
    """
    for path, value in overrides().items():
        *parts, field = path.split(".")
        settings = experiment
        for part in parts:
            settings = getattr(settings, part)
        if path not in kept:
            setattr(settings, field, value)
    if experiment.training.patience:
        raise ValueError(
            "training.patience would end rows after different numbers of steps, which could not be "
            "compared: leave it out"
        )
    experiment.validate()


def overrides():
    """What --config.part.field=value gave: value by "part.field"."""
    base = find_config("base")
    if given := [a for a in sys.argv if a.startswith("--config=") and a != f"--config={base}"]:
        raise ValueError(
            f"{given[0]}: each row of a table has a config of its own. --reduced=CONFIG gives a "
            "smaller one, --config.part.field=value changes a setting of all rows"
        )
    values = config_flags.get_override_values(flags.FLAGS["config"])
    if "training.steps" in values:
        raise ValueError("--steps=N says how many steps, and shortens the warm-up with them")
    return values


def changes(before, after):
    """The flags that turn the settings of one experiment into those of another."""
    changed = differences(before, after)
    return [f"--config.{name}={value}" for name, (_, value) in changed.items()]


def differences(before, after):
    """The settings that two experiments differ in: (before, after) by the setting's name."""
    before, after = before.flat(), after.flat()
    return {name: (old, after[name]) for name, old in before.items() if old != after[name]}


def shown(value):
    """A setting's value for a reader."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
