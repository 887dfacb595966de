"""Compares runs: the settings that differ, scores on test sets, training cost, learning curves."""

import datetime
import itertools
import statistics
from pathlib import Path
from typing import NamedTuple

from pipelines.atomic_files import atomic_file, file_digest, locked_folder
from t2t_keras.evaluation.bleu import SAMPLES, bleu, chrf
from t2t_keras.evaluation.several_seeds import p_of_means
from t2t_keras.models import architecture_of
from t2t_keras.parameters import parameter_counts
from t2t_keras.runs.comparing.test_sets import runs_in, test_sets, translated
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.reporting.data_facts import hardware_course
from t2t_keras.stages.table_writer import number, signed, write_table
from t2t_keras.visualization.curves import curves

# Beginnings of the settings in which the runs of a row may differ, besides the seed.
IGNORED = ("training.seed", "training.log_every", "data.dev")
FEW = 3  # a row with more settings is named after its runs
# {column: (field of the last evaluation, divisor, format)}
COSTS = {
    "held-out perplexity": ("perplexity", 1, ".2f"),
    "steps": ("step", 1, ",.0f"),
    "10⁶ tokens": ("tokens", 1e6, ".2f"),
    "seconds": ("seconds", 1, ",.0f"),
}


class Row(NamedTuple):
    """Runs that differ only in the seed."""

    settings: dict  # {setting that differs between rows: value as text}
    runs: dict  # {name: `Run`}

    @property
    def label(self):
        words = [f"{name.rpartition('.')[2]} {value}" for name, value in self.settings.items()]
        return ", ".join(words if 0 < len(words) <= FEW else self.runs)


def compare(
    folders, output="comparison", baseline=None, tests=None, to=None, trust=False, notes=()
):
    """Compares runs and returns the table as Markdown. Runs that differ only in the seed are a row.

    Writes `comparison.md`, `comparison.csv`, the learning curves in `comparison.png`, and the
    translations. Another call translates again only what has changed.

    Args:
        folders: folders of runs, or of sweeps. Each run counts once.
        baseline: run; the other rows are compared with its row. None: the first.
        tests: {name of a test set: (source file, file with reference translations)}. None: the
            held-out text of the runs, which must be the same.
        to, trust: see `Run`.
        notes: further lines below the table.
    """
    if not folders:
        raise ValueError("takes the folders of runs, or of sweeps. Received: none")
    runs, cells = runs_in([baseline, *folders] if baseline else folders, trust), []
    rows, texts, output = rows_of(runs), test_sets(runs, tests), Path(output)
    with locked_folder(output):
        for test, (sources, references) in texts.items():
            outputs = [
                [translated(*each, test, sources, to, output) for each in row.runs.items()]
                for row in rows
            ]
            scores = [
                [[metric(lines, references) for lines in of_row] for metric in (bleu, chrf)]
                for of_row in outputs
            ]
            p_values = [None, *p_of_means(outputs, references)]
            for row, of_row, p_value in zip(rows, scores, p_values, strict=True):
                cells.append(cells_of(row, test, of_row, scores[0][0], p_value))
        lines = {name: (run.evaluations(), run.intervals()) for name, run in runs.items()}
        with atomic_file(output / "comparison.png") as file:
            curves(file, {row.label: [lines[name] for name in row.runs] for row in rows})
        filled = [name for name in cells[0] if any(each[name] for each in cells)]
        cells = [{name: each[name] for name in filled} for each in cells]
        signatures = [f"{each[0].name}: {each[0].signature}" for each in scores[0]]
        notes = [*notes_on(rows, runs), *signatures, *notes, f"{datetime.date.today()}"]
        return write_table(output / "comparison", cells, notes)


def rows_of(runs):
    """Returns the `Row`s of {name: `Run`}, in the order of their first runs."""
    settings = {name: settings_of(run) for name, run in runs.items()}
    different = [
        each
        for each in dict.fromkeys(itertools.chain(*settings.values()))
        if len({of_run.get(each) for of_run in settings.values()}) > 1
    ]
    rows = {}
    for name, run in runs.items():
        shown = {each: settings[name].get(each, "") for each in different}
        rows.setdefault(str(shown), Row(shown, {})).runs[name] = run
    return list(rows.values())


def settings_of(run):
    """Returns {setting: value as text} of the settings that the runs of a row share."""
    experiment, record = run.experiment(), read_config(run.config_file)
    settings = {"model": architecture_of(experiment.model), **experiment.flat()}
    # Every run has copies of its plug-in files.
    files = [Path(path) for path in experiment.imports]
    settings["imports"] = " ".join(f"{path.name}@{file_digest(path)[:8]}" for path in files)
    training, step = experiment.training, max(run.checkpoints.steps(), default=None)
    stopped_early = training.patience and run.averaged_weights.exists()
    if step is not None and step < training.steps and not stopped_early:
        settings["unfinished"] = f"step {step:,} of {training.steps:,}"
    left_out = ("training.", "data.") if record.get("imported") else IGNORED
    return {name: f"{x}" for name, x in settings.items() if not name.startswith(left_out)}


def cells_of(row, test, scores, baseline, p_value):
    """Returns the cells of a row on a test set. `p_value` is None if the row is the baseline.

    `scores` are the `Score`s of the row's runs by BLEU and by chrF, `baseline` the baseline's BLEU.
    """
    ours, others, base = ([each.score for each in found] for found in (*scores, baseline))
    evaluations = [(run.evaluations() or [{}])[-1] for run in row.runs.values()]
    (first, *_) = row.runs.values()
    cells = {
        **row.settings,
        "runs": ", ".join(row.runs),
        "test set": test,
        "BLEU": number(statistics.fmean(ours)),
        "BLEU ±": number(statistics.stdev(ours)) if len(ours) > 1 else "",
        "− baseline": signed(
            statistics.fmean(ours), None if p_value is None else statistics.fmean(base)
        ),
        "p": number(p_value, ".3f"),
        "chrF": number(statistics.fmean(others)),
        "10⁶ weights": number(sum(parameter_counts(first.experiment().model).values()) / 1e6),
    }
    for name, (field, unit, form) in COSTS.items():
        found = [each.get(field) for each in evaluations]
        cells[name] = "" if None in found else number(statistics.fmean(found) / unit, form)
    return cells


def notes_on(rows, runs):
    """Yields the notes on the columns and on the hardware."""
    if len(rows) > 1:
        yield (
            f"Baseline: {rows[0].label}. p: paired bootstrap of the lines, {SAMPLES:,} samples. If "
            "it is small, these runs also differ on other sentences."
        )
    if len(runs) == len(rows) > 1:
        yield "Each row is a single run. p does not cover what another seed would change."
    if len(runs) > len(rows):
        yield (
            "Each number is the mean of the row's runs, which differ in the seed; ±: their "
            "standard deviation. A difference of less than about twice it may be the seeds'."
        )
    if len({run.vocabulary().contents() for run in runs.values()}) > 1:
        yield "The vocabularies differ, so perplexities per token cannot be compared."
    records = (read_config(run.config_file).get("hardware", []) for run in runs.values())
    yield from dict.fromkeys(itertools.chain(*map(hardware_course, records)))
