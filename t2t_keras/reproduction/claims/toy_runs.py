"""Variants of a small model, each trained once on the toy grammar."""

import functools

from t2t_keras.experiment import load_experiment, set_value
from t2t_keras.reproduction.child_process import call_in_child
from t2t_keras.reproduction.recipe import Recipe, apply_overrides, shorten
from t2t_keras.reproduction.run_stages import train
from t2t_keras.reproduction.texts import encoded_toy_grammar
from t2t_keras.runs.run import Run
from t2t_keras.stages.once import once
from t2t_keras.stages.stages import Stages
from t2t_keras.stages.table_writer import number

CONFIG = "claims"  # shipped config of all variants
EVALUATIONS = 10  # number of points in a learning curve


class ToyRuns:
    """Trains variants of the config `claims`.

    Args:
        plan: a `Plan`. Its `steps` and `overrides` apply to all variants, but do not change
            the settings that an experiment varies.
    """

    def __init__(self, plan):
        self.plan = plan
        self.recipe({})  # raises if a setting is wrong

    def recipe(self, changes, config=None):
        """Returns the `Recipe` of a variant, by {setting: value}, such as {"model.num_heads": 1}.

        If `config` is None, the model of `claims` is used, with the plan's overrides. Otherwise the
        model of that config is used, without them.
        """
        experiment = load_experiment(CONFIG)
        if self.plan.steps:
            shorten(experiment.training, self.plan.steps)
        training = experiment.training
        training.evaluate_every = max(1, training.steps // EVALUATIONS)
        training.checkpoint_every = training.steps
        apply_overrides(self.plan, experiment)
        if config is not None:
            experiment.model = load_experiment(config).model
        for path, value in changes.items():
            set_value(experiment, path, value)
        experiment.validate()
        return Recipe(CONFIG, experiment, load_experiment(CONFIG), reduced=config)

    @functools.cached_property
    def text(self):
        """The toy grammar as an `EncodedText`."""
        return encoded_toy_grammar(self.plan.folder / "text", self.recipe({}))

    def trained(self, name, changes, text=None, config=None):
        """Trains a variant, with evaluations on held-out text, and returns its `Run`.

        Without a `text`, it is the toy grammar. For `changes` and `config`, see `recipe`.
        """
        text = text or self.text
        folder = self.plan.folder / "runs" / name
        run = Run(folder / "run")
        stages = Stages(folder, name, text.stages)
        train(stages, run, self.recipe(changes, config), text.folder, text.dev)
        return run

    def with_attention(self, attention, heads):
        """Trains the variant with a kind of attention and a number of heads; d_k = d_model / h."""
        changes = {"model.attention": attention, "model.num_heads": heads}
        return self.trained(f"{attention}-{heads}", changes)

    def longer(self, factor):
        """Returns {setting: value} for a training with more steps and as many evaluations."""
        training = self.recipe({}).experiment.training
        steps = round(factor * training.steps)
        return {
            "training.steps": steps,
            "training.checkpoint_every": steps,
            "training.evaluate_every": max(1, round(factor * training.evaluate_every)),
        }

    def note(self, lines="pairs of the toy grammar"):
        """Describes the model of the variants and its training; `lines` is the kind of text."""
        model = self.recipe({}).experiment.model
        return (
            f"{model.num_layers} + {model.layers[1]} layers, d_model {model.d_model}, d_ff "
            f"{model.d_ff}. {self.training_note(lines)}"
        )

    def training_note(self, lines="pairs of the toy grammar"):
        experiment = self.recipe({}).experiment
        training = experiment.training
        return (
            f"Trained on {experiment.data.toy_pairs:,} {lines} for {training.steps:,} steps of "
            f"{experiment.data.batches.tokens:,} positions, with one seed. Scored on held-out "
            "sentences with unseen combinations of verb and noun, by greedy search."
        )


def curve(run, metric="perplexity"):
    """Returns {step: value} for a metric in a run's evaluations."""
    values = {each["step"]: each.get(metric) for each in run.evaluations()}
    return {step: value for step, value in values.items() if value is not None}


def scores(run, form=".3f"):
    """Returns the cells for a run's last evaluation."""
    return {
        "perplexity": number(last(run, "perplexity"), form),
        "BLEU": number(last(run, "bleu"), ".1f"),
    }


def head_cells(heads, d_model, run):
    """Returns the cells for a run whose model has a number of heads."""
    return {"heads": str(heads), "d_k": str(d_model // heads), **scores(run)}


def analysed(run, name, function, key, *arguments):
    """Returns `function(folder, step, *arguments)` for a run; NAME.json stores the result.

    A child process calls the function, because it loads the model of the checkpoint. `key` has
    everything that the result depends on except the run.
    """
    step = run.experiment().training.steps
    return once(
        run.folder.parent / f"{name}.json",
        {"checkpoint": run.evaluations(required=True)[-1], **key},
        lambda: call_in_child(function, str(run.folder), step, *arguments),
    )


def last(run, metric):
    """Returns the value of a metric in a run's last evaluation; NaN if training diverged."""
    value = run.evaluations(required=True)[-1].get(metric)
    return float("nan") if value is None else value
