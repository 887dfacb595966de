"""The stages of a run that tables 2 to 4 have in common, and what they say of it afterwards."""

from pathlib import Path
from typing import NamedTuple

from pipelines.whole import read_json
from t2t_keras.parameters import parameter_counts
from t2t_keras.training.checkpoints import Checkpoints


class Weights(NamedTuple):
    """The weights that a run is scored with.

    Args:
        name: for --weights.
        file: where they are.
        text: what they are, for a reader.
    """

    name: str
    file: Path
    text: str


class Facts(NamedTuple):
    """What a table says of a run besides its scores; None for what is not known."""

    pairs: int | None
    steps: int
    millions: float


def train(stages, run, recipe, data, *dev):
    """Trains a run to its last step, unless that was done.

    Args:
        data: the folder of the encoded text.
        *dev: flags of t2t-train that say what to evaluate on.
    """
    recipe.refuse_another(run)
    stages.do(
        stage="train",
        command="train",
        arguments=[*recipe.flags(), f"--data={data}", f"--run={run.folder}", *dev, "--noexport"],
        creates=checkpoints_of(run).path(recipe.experiment.training.steps),
    )


def average(stages, run, wanted):
    """Averages the last checkpoints, as many as are wanted or there are; returns the `Weights`."""
    steps = checkpoints_of(run).steps()[-wanted:]
    if not steps:
        raise ValueError(f"{run.folder} has no weights yet: its first checkpoint is still to come")
    stages.do(
        stage="average",
        command="average",
        arguments=[run.folder, f"--last={len(steps)}"],
        creates=run.averaged_weights,
        decides=steps,
    )
    count = f"the last {len(steps)} checkpoints averaged" if len(steps) > 1 else "one checkpoint"
    return Weights("averaged", run.averaged_weights, f"{count} (up to step {steps[-1]:,})")


def weights_of(run):
    """The weights of a run that somebody else has trained: averaged ones if it has any."""
    if run.averaged_weights.exists():
        return Weights("averaged", run.averaged_weights, "its averaged weights")
    checkpoints = checkpoints_of(run)
    if not checkpoints.steps():
        raise ValueError(f"{run.folder} has no weights yet: its first checkpoint is still to come")
    step = checkpoints.steps()[-1]
    return Weights(str(step), checkpoints.path(step), f"those of step {step:,}")


def translate(stages, stage, run, weights, search, source, output):
    """Translates a file with a run, unless that was done.

    Args:
        search: a `SearchConfig`, of which beam, alpha and extra_length count.
    """
    stages.do(
        stage=stage,
        command="translate",
        arguments=[
            run.folder,
            f"--weights={weights.name}",
            f"--beam={search.beam}",
            f"--alpha={search.alpha}",
            f"--extra_length={search.extra_length}",
            f"--input={source}",
            f"--output={output}",
        ],
        creates=output,
        reads=[weights.file, source],
    )


def facts_of(run):
    experiment = run.experiment()
    folder = experiment.data.folder
    report = read_json(Path(folder) / "report.json", {}) if folder else {}
    return Facts(
        pairs=report.get("counts", {}).get("kept"),
        steps=steps_of(run),
        millions=sum(parameter_counts(experiment.model).values()) / 1e6,
    )


def as_trained(run):
    """A run's settings: its text as it was prepared, its steps as far as it came."""
    experiment = run.experiment()
    experiment.training.steps = steps_of(run)
    experiment.data.vocabulary.size = experiment.model.vocab_size
    for rule, value in (run.prepared_with("cleaning") or {}).items():
        if value != "the vocabulary's":
            setattr(experiment.data.cleaning, rule, value)
    return experiment


def steps_of(run):
    """For how many steps it was trained; what its settings say, where the checkpoints are gone."""
    steps = checkpoints_of(run).steps()
    return steps[-1] if steps else run.experiment().training.steps


def checkpoints_of(run):
    return Checkpoints(run.folder / "checkpoints")
