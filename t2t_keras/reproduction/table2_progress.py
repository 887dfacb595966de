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
    is their mean, and the band around it reaches from the lowest to the highest.
    """
    rows = {name: merged(of_seeds) for name, of_seeds in rows.items()}
    rows = {name: points for name, points in rows.items() if points}
    if not rows:
        return
    most = max(points[-1].operations for points in rows.values())
    exponent = 3 * int(math.log10(most) // 3)
    unit = 10**exponent
    power = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    panels = [
        panel(rows, lambda each: each.operations / unit, f"operations of training, 10{power}"),
        panel(rows, lambda each: each.seconds / 60, "minutes of training"),
    ]
    draw_panels(path, panels)


class Point(NamedTuple):
    """An evaluation of all seeds of a row: means, and the range of BLEU."""

    operations: float
    seconds: float
    bleu: float
    lowest: float
    highest: float


def merged(of_seeds):
    """Returns the `Point`s of a row: evaluations with a BLEU that all seeds have reached."""
    translated = [[each for each in progress if each.bleu is not None] for progress in of_seeds]
    points = []
    for evaluations in zip(*translated, strict=False):
        scores = [each.bleu for each in evaluations]
        points.append(
            Point(
                operations=statistics.mean(each.operations for each in evaluations),
                seconds=statistics.mean(each.seconds for each in evaluations),
                bleu=statistics.mean(scores),
                lowest=min(scores),
                highest=max(scores),
            )
        )
    return points


def panel(rows, x_of, x_label):
    """Returns the `Panel` of BLEU over a cost."""
    return Panel(
        "BLEU on the held-out text",
        {name: {x_of(each): each.bleu for each in points} for name, points in rows.items()},
        x_label,
        bands={
            name: {x_of(each): (each.lowest, each.highest) for each in points}
            for name, points in rows.items()
            if any(each.lowest < each.highest for each in points)
        },
    )
