"""The settings of a training run, the paper's settings, and the differences between them.

`Plan.reduced` replaces the paper's settings with the settings of a smaller config. `Plan.divide`
divides the widths. `Plan.steps` shortens the training. `Plan.operations` sets the same training
cost for all rows. `Plan.overrides` are applied last.
"""

import copy
import dataclasses
import math
from pathlib import Path
from typing import NamedTuple

from pipelines.tokenizers import load_tokenizer
from t2t_keras.checks import check_choice
from t2t_keras.experiment import Experiment, differences, load_experiment, set_value
from t2t_keras.models import architecture_of
from t2t_keras.parameters import training_operations

CHECKPOINTS = 72  # checkpoints in 12 hours of training, one every ten minutes (§5.2, §6.1)
TYPICAL_LENGTH = 25  # assumed tokens per sentence; determines the cost of attention
# Settings that do not affect the results.
IRRELEVANT = {
    *("data.folder", "data.toy_pairs", "data.dev_source", "data.dev_target", "data.dev_pairs"),
    *("training.log_every", "training.evaluate_every", "training.checkpoint_every"),
    *("training.checkpoint_minutes", "training.keep", "training.xla", "training.accumulate"),
    "training.average",  # tables average checkpoints themselves
    *("model.vocab_size", "data.vocabulary.symbols"),  # implied by data.vocabulary.size
}


class Recipe(NamedTuple):
    """The settings of a run and the paper's settings that it reproduces."""

    config: str  # name of the shipped config with the paper's settings
    experiment: Experiment  # settings of the run
    paper: Experiment  # settings of the paper
    # name of the smaller config that the run uses instead of `config`, or None
    reduced: str | None = None

    def train_flags(self, init=None):
        """Returns the flags of t2t-train for the run's settings.

        A training that starts from the run in the folder `init` has that model's settings, except
        for the rates of dropout.
        """
        start = load_experiment(self.reduced) if self.reduced else self.paper
        flags = [f"--config={self.reduced or self.config}"]
        for name, value in changes(start, self.experiment).items():
            if not (init and is_of_weights(name)):
                flags.append(f"--config.{name}={value}")
        return [*flags, f"--init={init}"] if init else flags

    def prepare_flags(self):
        """Returns the flags of t2t-prepare, which must be the same for rows that share a text."""
        changed = changes(load_experiment("base"), self.experiment)
        data = {name: value for name, value in changed.items() if name.startswith("data.")}
        return ["--config=base", *(f"--config.{name}={value}" for name, value in data.items())]

    def without_vocabulary(self):
        """Returns the recipe for a text with an existing vocabulary, which has its own settings."""
        vocabulary = load_experiment("base").data.vocabulary
        data = dataclasses.replace(self.experiment.data, vocabulary=vocabulary)
        return self._replace(experiment=dataclasses.replace(self.experiment, data=data))

    def reductions(self, trained):
        """Describes each relevant difference from the paper's settings in a few words.

        `trained` are the settings of the run's training. Search settings come from the recipe.
        """
        ours = dataclasses.replace(trained, search=self.experiment.search)
        return [
            f"{name} {shown(our_value)} (paper {shown(paper_value)})"
            for name, (paper_value, our_value) in differences(self.paper, ours).items()
            if name not in IRRELEVANT
        ]

    def fixed_settings(self):
        """Returns {setting: value} of the settings that a begun run keeps."""
        settings = {
            name: value
            for name, value in self.experiment.flat().items()
            if name.startswith(("model.", "training.", "data.batches.")) and name not in IRRELEVANT
        }
        if self.experiment.training.schedule != "linear":  # the others may be extended
            del settings["training.steps"]
        return settings


def first_recipe(plan, recipe):
    """Returns the `Recipe` of the training before `recipe`, with the plan's reductions, or None.

    Its share of the steps stays the same. The plan's overrides change no setting by which
    `plan.first` differs from the config of the training itself.
    """
    if not plan.first:
        return None
    main, first = (load_experiment(c) for c in (recipe.reduced or recipe.config, plan.first))
    if type(first.model) is not type(main.model):
        raise ValueError(
            "--first must name a config with the model of --reduced. Received: "
            f"{plan.first}, a {architecture_of(first.model)!r}"
        )
    if plan.steps:
        share = plan.steps / main.training.steps
        plan = dataclasses.replace(plan, steps=max(1, round(share * first.training.steps)))
    kept = changes(main, first)
    result = reduced_recipe(plan, recipe.config, reduced=plan.first, kept=kept)
    different = changes(recipe.experiment, result.experiment).keys() - IRRELEVANT
    if other := sorted(filter(is_of_weights, different)):
        raise ValueError(
            f"--first must name a config with the model of --reduced. {plan.first} has a different "
            f"{other[0]}"
        )
    return result


def reduced_recipe(plan, config, keep=0, checkpoints=CHECKPOINTS, reduced=None, kept=()):
    """Returns the recipe of a shipped config, reduced according to the plan.

    Args:
        plan: a `Plan`.
        config: name of the config.
        reduced: name of the smaller config for this row. If None, `plan.reduced` is used.
        keep: minimum number of checkpoints that the run keeps.
        checkpoints: number of checkpoints that the paper's training wrote.
        kept: names of settings that the plan's overrides do not change.
    """
    reduced = reduced or plan.reduced
    paper, ours = load_experiment(config), load_experiment(reduced or config)
    if type(ours.model) is not type(paper.model):
        models = [architecture_of(each.model) for each in (paper, ours)]
        raise ValueError(
            f"--reduced must name a config of the row's model. {config} is a model of the kind "
            f"{models[0]!r}. Received: {reduced}, a {models[1]!r}"
        )
    ours.model = ours.model.divided(plan.divide or 1, plan.divide_layers or 1)
    if plan.steps:
        shorten(ours.training, plan.steps, checkpoints)
    if plan.operations:
        steps = math.ceil(plan.operations / operations_of_step(overridden(plan, ours)))
        shorten(ours.training, steps, checkpoints)
    ours.training.keep = max(ours.training.keep, keep)
    ours.training.average = "always"
    apply_overrides(plan, ours, kept)
    return Recipe(config, ours, paper, reduced)


def operations_per_token(experiment):
    """Returns the floating-point operations of training per source or target token."""
    passes = 2 if experiment.training.r_drop else 1  # R-Drop computes each batch twice
    return passes * training_operations(experiment.model, 1, TYPICAL_LENGTH) / (2 * TYPICAL_LENGTH)


def operations_of_step(experiment):
    """Returns the floating-point operations of a training step with a full batch."""
    return operations_per_token(experiment) * 2 * experiment.data.batches.tokens


def overridden(plan, experiment):
    """Returns a copy of an experiment with the plan's overrides and actual vocabulary size."""
    experiment = copy.deepcopy(experiment)
    apply_overrides(plan, experiment)
    experiment.model.vocab_size = experiment.data.vocabulary.size
    if plan.data:
        experiment.model.vocab_size = load_tokenizer(Path(plan.data) / "vocabulary").target.size
    return experiment


def shorten(training, steps, checkpoints=CHECKPOINTS):
    """Changes the number of steps. The warm-up's share and the highest rate stay the same."""
    share = steps / training.steps
    warmup = max(1, round(training.warmup_steps * share))
    if training.schedule == "paper":  # the highest rate of this schedule depends on the warm-up
        training.learning_rate *= math.sqrt(warmup / training.warmup_steps)
    training.warmup_steps, training.steps = warmup, steps
    training.evaluate_every = min(training.evaluate_every, steps)
    training.checkpoint_every = max(1, steps // checkpoints)


def apply_overrides(plan, experiment, kept=()):
    """Applies the plan's overrides, except for settings in `kept`, which define the row."""
    for path, value in (plan.overrides or {}).items():
        check_choice("overrides", path, experiment.flat())
        if path not in kept:
            set_value(experiment, path, value)
    if experiment.training.patience:
        raise ValueError(
            "training.patience would end the rows after different numbers of steps, and they "
            "could not be compared. Set it to 0. "
            f"Received: training.patience={experiment.training.patience}"
        )
    experiment.validate()


def changes(before, after):
    """Returns {setting: value} of the settings in `after` that differ from `before`."""
    return {name: value for name, (_, value) in differences(before, after).items()}


def is_of_weights(name):
    """Returns whether a setting determines the model's weights, as dropout does not."""
    return name.startswith("model.") and not name.endswith("dropout")


def shown(value):
    """Formats a setting's value for a reader."""
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
