"""Plots the BLEU of each system over its training cost."""

import math
from typing import NamedTuple

from t2t_keras.reproduction.recipe import operations_per_token
from t2t_keras.visualization.line_panels import Panel, line_panels


class RowProgress(NamedTuple):
    """The training cost up to an evaluation, and its BLEU on the held-out text.

    Args:
        operations: floating-point operations of matrix products.
        seconds: duration of the training steps.
        bleu: BLEU, or None if the evaluation had no translations.
    """

    operations: float
    seconds: float
    bleu: float | None


def progress_of(run):
    """Returns the `RowProgress` at each evaluation of a run."""
    per_token = operations_per_token(run.experiment().model)
    return [
        RowProgress(per_token * line["tokens"], line["seconds"], line.get("bleu"))
        for line in run.evaluations()
        if "tokens" in line and "seconds" in line
    ]


def draw_progress(path, rows):
    """Draws BLEU over operations and over minutes. If no row has a BLEU, writes no file.

    Args:
        path: path of the PNG file.
        rows: {name of the row: list of `RowProgress`}.
    """
    rows = {
        name: [each for each in progress if each.bleu is not None]
        for name, progress in rows.items()
    }
    rows = {name: progress for name, progress in rows.items() if progress}
    if not rows:
        return
    most = max(progress[-1].operations for progress in rows.values())
    exponent = 3 * int(math.log10(most) // 3)
    unit = 10**exponent
    power = str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))

    def lines(x_of):
        return {
            name: {x_of(each): each.bleu for each in progress} for name, progress in rows.items()
        }

    title = "BLEU on the held-out text"
    operations = lines(lambda each: each.operations / unit)
    minutes = lines(lambda each: each.seconds / 60)
    panels = [
        Panel(title, operations, f"operations of training, 10{power}"),
        Panel(title, minutes, "minutes of training"),
    ]
    line_panels(path, panels)
