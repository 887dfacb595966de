"""Learning curves of one or several runs, and learning rate schedules."""

import itertools
import statistics

import numpy as np

from t2t_keras.evaluation.held_out_metrics import names_in, of_set, without_sets
from t2t_keras.visualization.panels import Panel, draw_panels

# {title of the panel: (field of evaluations, field of training intervals)}
PANELS = {
    "loss": ("loss", "loss"),
    "perplexity": ("perplexity", "perplexity"),
    "token accuracy": ("token_accuracy", None),
    "BLEU": ("bleu", None),
    "learning rate": (None, "learning_rate"),
    "tokens per second": (None, "tokens_per_second"),
}


def curves(path, runs):
    """Draws the metrics of runs over the steps, a panel for each of `PANELS`.

    Args:
        path: path of the PNG file, or a binary file object.
        runs: {name of a line: list of runs}. A run is a pair (evaluations, intervals) of lists of
            dicts as in `metrics.jsonl` and `training.jsonl`. Missing metrics are not drawn. Each
            named held-out set gets a line. Several runs are drawn as a line of their means, and a
            band from the lowest to the highest value, at the steps that all of them have.
    """
    held_out, trained = {}, {}
    for line, found in runs.items():
        evaluations, trained[line] = zip(*found, strict=True)
        held_out[line] = [[without_sets(each) for each in of_run] for of_run in evaluations]
        for name in names_in(itertools.chain(*evaluations)):
            held_out[f"{line}: {name}"] = [of_set(of_run, name) for of_run in evaluations]
    panels = []
    for title, (of_evaluations, of_intervals) in PANELS.items():
        found = values(held_out if of_evaluations else trained, of_evaluations or of_intervals)
        panel = Panel(
            title,
            means(found),
            "step",
            log_y=title == "perplexity",
            faint=means(values(trained, of_intervals)) if of_evaluations and of_intervals else {},
            bands={
                name: {step: (min(each), max(each)) for step, each in line.items()}
                for name, line in found.items()
                if any(len(each) > 1 for each in line.values())
            },
        )
        panels.append(panel)
    draw_panels(path, panels, (5.5, 3.4), columns=2, faint="training")


def values(records, field):
    """Returns {name: {step: value of each run}} of a field; records without it are left out."""
    found = {}
    for name, runs in records.items():
        lines = [
            {each["step"]: each[field] for each in of_run if each.get(field) is not None}
            for of_run in runs
        ]
        steps = [step for step in lines[0] if all(step in line for line in lines)]
        found[name] = {step: [line[step] for line in lines] for step in steps}
    return found


def means(found):
    return {
        name: {step: statistics.fmean(each) for step, each in line.items()}
        for name, line in found.items()
    }


def schedule_curve(path, rate, steps, reached=None):
    """Draws a learning rate schedule over the planned steps.

    `rate(step)` counts from 0, as in Keras. `reached`, the number of finished steps, is marked.
    """
    shown = np.unique(np.linspace(1, max(steps, reached or 0), 400).round()).tolist()
    line = {step: float(rate(step - 1)) for step in shown}
    marks = {} if reached is None else {"reached": reached}
    draw_panels(path, [Panel("learning rate", {"": line}, "step", marks=marks)], (11, 3))
