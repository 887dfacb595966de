"""Plots the BLEU of each system over its training cost."""

import math
import statistics
from typing import NamedTuple

from t2t_keras.reproduction.recipe import operations_per_token
from t2t_keras.visualization.panels import Panel, draw_panels


class RowProgress(NamedTuple):
    """The training cost up to an evaluation, and its BLEU on the held-out text."""

    operations: float  # floating-point operations of matrix products
    seconds: float  # duration of the training steps
    bleu: float | None  # BLEU, or None if the evaluation had no translations


def progress_of(run):
    """Returns the `RowProgress` at each evaluation of a run."""
    per_token = operations_per_token(run.experiment())
    return [
        RowProgress(per_token * line["tokens"], line["seconds"], line.get("bleu"))
        for line in run.evaluations()
        if "tokens" in line and "seconds" in line
    ]


def draw_progress(path, rows):
    """Draws BLEU over operations and over minutes. If no row has a BLEU, writes no file.

    `rows` is {name of the row: a list of `RowProgress` for each seed}. With several seeds, the line
    is their mean, and the band around it reaches from the lowest to the highest. It ends with the
    last evaluation that all seeds have reached.
    """
    drawn = {}
    for name, of_seeds in rows.items():
        translated = [[each for each in progress if each.bleu is not None] for progress in of_seeds]
        if evaluations := list(zip(*translated, strict=False)):
            drawn[name] = evaluations
    if not drawn:
        return
    exponent = max(
        3 * int(math.log10(statistics.mean(each.operations for each in evaluations[-1])) // 3)
        for evaluations in drawn.values()
    )
    power = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    panels = [
        panel(
            drawn, lambda each: each.operations / 10**exponent, f"operations of training, 10{power}"
        ),
        panel(drawn, lambda each: each.seconds / 60, "minutes of training"),
    ]
    draw_panels(path, panels)


def panel(rows, x_of, x_label):
    """Returns the `Panel` of BLEU over a cost; `rows` are {name: evaluations of all seeds}."""
    lines, bands = {}, {}
    for name, evaluations in rows.items():
        scores = {
            statistics.mean(map(x_of, evaluation)): [each.bleu for each in evaluation]
            for evaluation in evaluations
        }
        lines[name] = {x: statistics.mean(found) for x, found in scores.items()}
        if any(min(found) < max(found) for found in scores.values()):
            bands[name] = {x: (min(found), max(found)) for x, found in scores.items()}
    return Panel("BLEU on the held-out text", lines, x_label, bands=bands)
