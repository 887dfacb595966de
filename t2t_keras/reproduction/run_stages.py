"""The stages that tables 2 to 4 share, and the facts about a run that these tables print."""

import contextlib
import dataclasses
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf

from pipelines.atomic_files import read_json
from pipelines.exit_codes import DIVERGED
from pipelines.text.sources import digest_of
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.run import Run
from t2t_keras.stages.once import check_begun
from t2t_keras.stages.stages import StageFailed


class ChosenWeights(NamedTuple):
    """The weights that a run is scored with."""

    name: str  # value of --weights
    text: str  # description for the table's notes


def leave_gpus():
    """Leaves the GPUs to the processes of the stages, unless the caller already uses them."""
    with contextlib.suppress(RuntimeError):
        tf.config.set_visible_devices([], "GPU")


def existing_run(plan):
    if not plan.run:
        return None
    run = Run(plan.run)
    run.experiment()  # raises if the folder is not a run
    return run


def train(stages, run, recipe, data, dev=None, stage="train", first=None):
    """Trains a run to its last step, with evaluations on the two files `dev` if they are given.

    The training starts from the weights of another one, `first`, if that is given, as a pair of a
    `Run` and its `Recipe`.
    """
    check_same(run, recipe, data, dev, first)
    dev_flags = [f"--dev_source={dev[0]}", f"--dev_target={dev[1]}"] if dev else []
    stages.run_once(
        stage=stage,
        command="train",
        arguments=[
            *recipe.train_flags(first and first[0].folder),
            *(f"--data={data}", f"--run={run.folder}", *dev_flags, "--noexport"),
        ],
        creates=run.checkpoints.path(recipe.experiment.training.steps),
    )


def train_unless_it_diverges(stages, run, recipe, data, dev=None):
    """Trains like `train`. Returns whether the training reached its last step or diverged."""
    try:
        train(stages, run, recipe, data, dev)
    except StageFailed as error:
        if error.code != DIVERGED:
            raise
        stages.report(str(error))
        return False
    return True


def check_same(run, recipe, data, dev=None, first=None):
    """Rejects a run that was begun with different settings or text, or trained for more steps.

    t2t-train allows that, but a table's results must belong to the table's settings.
    """
    settings = recipe.fixed_settings() | {
        "training text": read_json(Path(data) / "preparation.json"),
        "held-out text": digest_of(map(Path, dev)) if dev else None,
        "steps of --first": first and first[1].experiment.training.steps,
    }
    record = run.folder.with_name(f"{run.folder.name}-begun.json")
    check_begun(record, run.folder, settings, "choose a different --output")
    newest, steps = max(run.checkpoints.steps(), default=0), recipe.experiment.training.steps
    if newest > steps:
        raise ValueError(
            f"{run.folder} has already been trained for {newest:,} steps. Train for at least as "
            f"many, or choose a different --output. Received: {steps:,} steps"
        )


def average(stages, run, last):
    """Averages the newest `last` checkpoints, or all if fewer; returns `ChosenWeights`."""
    if not run.checkpoints.steps():
        raise ValueError(f"{run.folder} has no weights yet. Train it to its first checkpoint")
    steps = run.checkpoints.latest()[-last:]
    stages.run_once(
        stage="average",
        command="average",
        arguments=[run.folder, f"--last={len(steps)}"],
        creates=run.averaged_weights,
        depends_on=steps,
    )
    count = f"the last {len(steps)} checkpoints averaged" if len(steps) > 1 else "one checkpoint"
    return ChosenWeights("averaged", f"{count} (up to step {steps[-1]:,})")


def default_weights(run):
    """Returns the `ChosenWeights` that every command uses by default."""
    name = run.default_weights()
    is_average = name == "averaged"
    text = "the run's averaged weights" if is_average else f"the checkpoint of step {int(name):,}"
    return ChosenWeights(name, text)


def translate(stages, stage, runs, search, source, output):
    """Translates a file with `runs`, a list of (`Run`, `ChosenWeights`); several are an ensemble.

    All weights have one name. Only beam, alpha, extra_length and constrain of the `SearchConfig`
    are used; all other settings come from the run.
    """
    stages.run_once(
        stage=stage,
        command="translate",
        arguments=[
            *(run.folder for run, _ in runs),
            f"--weights={runs[0][1].name}",
            f"--beam={search.beam}",
            f"--alpha={search.alpha}",
            f"--extra_length={search.extra_length}",
            "--split=off",  # each line of a test set needs one translation
            f"--constrain={search.constrain}",  # even if empty, to override the run's setting
            f"--input={source}",
            f"--output={output}",
        ],
        creates=output,
        reads=[*(run.weights_file(weights.name) for run, weights in runs), source],
        depends_on=dataclasses.asdict(runs[0][0].experiment().search),
    )


def pairs_of(run):
    """Returns the number of sentence pairs in the training text, or None if unknown."""
    folder = run.experiment().data.folder
    report = read_json(Path(folder) / "report.json", {}) if folder else {}
    return report.get("counts", {}).get("kept")


def millions_of(run):
    """Returns the number of weights, in millions."""
    return sum(parameter_counts(run.experiment().model).values()) / 1e6


def trained_experiment(run):
    """Returns a run's settings with its actual steps, vocabulary size and cleaning rules."""
    experiment = run.experiment()
    experiment.training.steps = steps_of(run)
    experiment.data.vocabulary.size = experiment.model.vocab_size
    for rule, value in (run.prepared_with("cleaning") or {}).items():
        if value != "the vocabulary's":
            setattr(experiment.data.cleaning, rule, value)
    return experiment


def steps_of(run):
    """Returns the number of finished steps, or of planned steps without checkpoints."""
    return max(run.checkpoints.steps(), default=run.experiment().training.steps)
