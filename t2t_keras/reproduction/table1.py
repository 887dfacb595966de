"""Table 1: seconds and bytes of a layer as the sequence length n grows (§4).

Attention is compared with layers of Keras. Each layer is measured once and stored as a JSON file.
"""

import functools
import textwrap
from typing import NamedTuple

import keras
import numpy as np

from pipelines.atomic_files import atomic_file, locked_folder
from pipelines.progress import Progress
from t2t_keras.layers import LocalSelfAttention, MultiHeadAttention
from t2t_keras.layers.attention import head_widths
from t2t_keras.reproduction.child_process import call_in_child
from t2t_keras.reproduction.layer_cost import MEASURES, MEMORY, costs
from t2t_keras.stages.once import once
from t2t_keras.stages.table_writer import circumstances, number, this_machine, write_table
from t2t_keras.visualization.panels import Panel, draw_panels

FITTED_FROM = 1024  # minimum n in a fit; fixed overhead dominates at shorter lengths
NONE = "–"  # cell of an exponent that is not fitted
NOT_FITTED = f"a fit needs two lengths of at least {FITTED_FROM:,}"
SETTINGS = ("d_model", "heads", "neighbourhood", "kernel", "rounds", "lengths")  # of the plan


class PaperRow(NamedTuple):
    """The paper's row for a layer: complexity, sequential operations, maximum path length."""

    cost: str
    sequential: str
    path: str


PAPER = {
    "self-attention": PaperRow("O(n²·d)", "O(1)", "O(1)"),
    "recurrent": PaperRow("O(n·d²)", "O(n)", "O(n)"),
    "convolutional": PaperRow("O(k·n·d²)", "O(1)", "O(log_k n)"),
    "separable convolutional": PaperRow("O(k·n·d + n·d²)", "O(1)", "O(log_k n)"),
    "restricted self-attention": PaperRow("O(r·n·d)", "O(1)", "O(n/r)"),
}


def reproduce(plan):
    head_widths(plan.d_model, plan.heads, None, None)  # raises if heads do not divide the width
    with locked_folder(plan.folder), Progress("measuring", len(PAPER), "layers") as progress:
        # In a child process, because listing the devices starts the backend.
        machine, table = call_in_child(this_machine), {}
        for name, new_layer in layer_factories(plan).items():
            progress.to(len(table))
            table[name] = measured(plan, name, new_layer, machine)
        rows = rows_of(table)
        text = write_table(plan.folder / "table1", rows, notes(plan, machine, rows))
        draw(plan.folder / "table1.png", table)
    return text


def measured(plan, name, new_layer, machine):
    """Returns {n: costs of a layer}; a file stores the costs."""

    def measure():
        try:
            return costs(new_layer, plan.lengths, plan.d_model, plan.rounds)
        except Exception as error:  # the backend's own, if memory runs out
            raise ValueError(
                f"{name} could not be measured ({textwrap.shorten(str(error), 300)}). If memory "
                "ran out, leave out the longest length with --lengths. Finished layers are kept"
            ) from error

    key = {field: getattr(plan, field) for field in SETTINGS}
    key |= {"backend": keras.config.backend(), "machine": machine}
    found = once(plan.folder / f"{name.replace(' ', '_')}.json", key, measure)
    return dict(zip(plan.lengths, found, strict=True))


def layer_factories(plan):
    convolution = {"filters": plan.d_model, "kernel_size": plan.kernel, "padding": "same"}
    return {
        "self-attention": functools.partial(MultiHeadAttention, plan.heads, plan.d_model),
        "recurrent": functools.partial(keras.layers.LSTM, plan.d_model, return_sequences=True),
        "convolutional": functools.partial(keras.layers.Conv1D, **convolution),
        "separable convolutional": functools.partial(keras.layers.SeparableConv1D, **convolution),
        "restricted self-attention": functools.partial(
            LocalSelfAttention, plan.heads, plan.d_model, plan.neighbourhood
        ),
    }


def fit(by_length, measure):
    """Fits factor · n^exponent to {n: result}, by least squares on the logarithms.

    Returns (exponent, factor), or None if fewer than two lengths are at least `FITTED_FROM`.
    """
    points = {n: result[measure] for n, result in by_length.items() if n >= FITTED_FROM}
    if len(points) < 2 or min(points.values()) <= 0:
        return None
    exponent, logarithm = np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)
    return float(exponent), float(np.exp(logarithm))


def rows_of(table):
    rows = []
    for measure, (title, scale) in MEASURES.items():
        for name, by_length in table.items():
            fitted = fit(by_length, measure)
            rows.append(
                {
                    "measured": title,
                    "layer": name,
                    "cost": PAPER[name].cost,
                    **{
                        f"n = {n:,}": number(scale * c[measure], ",.1f")
                        for n, c in by_length.items()
                    },
                    "exponent of n": number(fitted[0]) if fitted else NONE,
                }
            )
    return rows


def notes(plan, machine, rows):
    d, backend = plan.d_model, keras.config.backend()
    exponents = f"The exponents are fitted by least squares in log–log, over n ≥ {FITTED_FROM:,}."
    if missing := [row for row in rows if row["exponent of n"] == NONE]:
        all_rows = len(missing) == len(rows)
        which = "no exponent" if all_rows else f"no exponent where the cell is {NONE}"
        exponents += (
            f" There is {which}: {NOT_FITTED} and costs above 0, because at shorter lengths a "
            "fixed overhead of each call dominates, and the exponent would describe the overhead."
        )
    paths = "; ".join(f"{name} {row.sequential} and {row.path}" for name, row in PAPER.items())
    return [
        f"One sequence of n positions, d = {d}, h = {plan.heads}, r = {plan.neighbourhood}, "
        f"k = {plan.kernel}, float32; {backend}, medians of {plan.rounds} calls. "
        "Recurrent, convolutional and separable convolutional are Keras' LSTM, Conv1D and "
        "SeparableConv1D.",
        f"The cost column is the paper's. Its sequential operations and maximum path lengths: "
        f"{paths}.",
        exponents,
        "The paper's n²·d counts the two products of each position with every other one. The four "
        "projections of multi-head attention cost another n·d², more than half of the total while "
        f"n < 2·d = {2 * d:,}. Narrow layers show quadratic growth at shorter lengths than wide "
        "ones.",
        f"Memory is {MEMORY[backend]}.",
        *circumstances(plan, machine),
    ]


def draw(path, table):
    panels = []
    for measure, (title, scale) in MEASURES.items():
        lines, fits = {}, {}
        for layer, by_length in table.items():
            name = f"{layer}, {PAPER[layer].cost}"
            lines[name] = {n: scale * result[measure] for n, result in by_length.items()}
            if fitted := fit(by_length, measure):
                fits[name] = fitted[0], scale * fitted[1]
        note = "at the end of each line, its exponent" if fits else f"no exponents: {NOT_FITTED}"
        options = {"log_x": True, "log_y": True, "joined": False, "fits": fits}
        panels.append(Panel(title, lines, f"n; {note}", **options))
    with atomic_file(path) as file:
        draw_panels(file, panels)
