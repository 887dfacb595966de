"""Learning curves of one or several runs, and learning rate schedules."""

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
        runs: {name of the run: (evaluations, intervals)}, lists of dicts as in `metrics.jsonl` and
            `training.jsonl`. Missing metrics are not drawn. Each named held-out set gets a line.
    """
    held_out, trained = {}, {}
    for run, (evaluations, trained[run]) in runs.items():
        held_out[run] = [without_sets(each) for each in evaluations]
        for name in names_in(evaluations):
            held_out[f"{run}: {name}"] = of_set(evaluations, name)
    panels = [
        Panel(
            title,
            values(held_out if of_evaluations else trained, of_evaluations or of_intervals),
            "step",
            log_y=title == "perplexity",
            faint=values(trained, of_intervals) if of_evaluations and of_intervals else {},
        )
        for title, (of_evaluations, of_intervals) in PANELS.items()
    ]
    draw_panels(path, panels, (5.5, 3.4), columns=2, faint="training")


def values(records, field):
    """Returns {name: {step: value}} of a field of records; records without it are left out."""
    return {
        name: {each["step"]: each[field] for each in lines if each.get(field) is not None}
        for name, lines in records.items()
    }


def schedule_curve(path, rate, steps, reached=None):
    """Draws a learning rate schedule over the planned steps.

    `rate(step)` counts from 0, as in Keras. `reached`, the number of finished steps, is marked.
    """
    shown = np.unique(np.linspace(1, max(steps, reached or 0), 400).round()).tolist()
    line = {step: float(rate(step - 1)) for step in shown}
    marks = {} if reached is None else {"reached": reached}
    draw_panels(path, [Panel("learning rate", {"": line}, "step", marks=marks)], (11, 3))
