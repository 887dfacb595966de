"""Trains a grid of settings with several seeds, one run after another, and compares the runs."""

import copy
import itertools
import re
from pathlib import Path

from pipelines.atomic_files import locked_folder
from pipelines.exit_codes import DIVERGED
from t2t_keras.checks import check, check_integer, nearest
from t2t_keras.experiment import set_value
from t2t_keras.runs.comparing.compare import compare
from t2t_keras.runs.comparing.test_sets import SWEEP
from t2t_keras.runs.plugins.trained_plugins import adopt_plugins
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.runs.settings_file import data_facts, settings_flags
from t2t_keras.runs.training.held_out_sets import held_out_texts
from t2t_keras.stages.once import check_begun
from t2t_keras.stages.stages import StageFailed, Stages

SEED = "training.seed"


def sweep(experiment, folder, settings, seeds=1, *, init=None, flags=("--noexport",), notes=()):
    """Trains a run for each combination of values and seed; returns the table of `compare`.

    Each run has its own process. Repeat an interrupted call to resume it; values and seeds may be
    added. A run that diverges is left out of the table, and a note names it.

    Args:
        experiment: an `Experiment` with all other settings, and the first seed.
        folder: folder for the runs and the table.
        settings: {setting: values}, such as {"training.learning_rate": [1e-3, 3e-3]}.
        init: see `train`.
        flags: further flags of t2t-train.
    """
    folder, points = Path(folder), points_of(experiment, settings, seeds)
    if RunFolder(folder).config_file.exists():
        raise ValueError(f"--run must be a folder for several runs. Received: the run {folder}")
    if not held_out_texts(experiment):
        raise ValueError(
            "The runs of a sweep are compared on held-out text. Give --dev_source and --dev_target"
        )
    fixed = {name: x for name, x in experiment.flat().items() if name not in (*settings, SEED)}
    plugins = adopt_plugins(RunFolder(folder), experiment)
    fixed["imports"] = {each.path.name: each.sha256 for each in plugins}
    fixed |= {"--init": init, "training text": data_facts(experiment.data.folder)}
    diverged = {}
    with locked_folder(folder):
        check_begun(folder / SWEEP, folder / next(iter(points)), fixed, "give a different --run")
        flags = [*flags, *settings_flags(experiment, experiment.imports, folder / "settings")]
        flags += [f"--init={init}"] if init else []
        for index, (name, changes) in enumerate(points.items(), 1):
            run, stages = RunFolder(folder / name), Stages(folder, f"run {index} of {len(points)}")
            try:
                stages.run_once(
                    stage=name,
                    command="train",
                    arguments=[f"--config.{setting}={value}" for setting, value in changes.items()],
                    creates=run.averaged_weights,
                    unrecorded=[f"--run={run.folder}", *flags],
                )
            except StageFailed as error:
                if error.code != DIVERGED or len(diverged) == len(points) - 1:
                    raise
                diverged[name] = stages.report(str(error))
    if diverged:
        notes = [f"Diverged, and not in the table: {', '.join(diverged)}.", *notes]
    return compare([folder / each for each in points if each not in diverged], folder, notes=notes)


def points_of(experiment, settings, seeds):
    """Returns {name of a run: {setting: value}} for each combination, after checking them."""
    check_integer("seeds", seeds)
    points, known, names = {}, experiment.flat(), sorted(settings)
    for name in names:
        if name not in known or name == SEED:
            what = "--seeds changes it" if name == SEED else f"Unknown{nearest(name, known)}"
            raise ValueError(f"A sweep cannot have the setting {name!r}. {what}")
    for seed, *values in itertools.product(range(seeds), *(settings[name] for name in names)):
        changes = dict(zip(names, values, strict=True)) | {SEED: known[SEED] + seed}
        point = copy.deepcopy(experiment)
        for name, value in changes.items():
            set_value(point, name, value)
        point.validate()
        words = [f"{name.rpartition('.')[2]}={value}" for name, value in changes.items()]
        run = re.sub(r"[^\w.=+-]+", "_", "-".join(words))
        check(run not in points, "sweep", run, "values that differ")
        points[run] = changes
    check(len(points) > 0, "sweep", settings, "settings with one value or more")
    return points
