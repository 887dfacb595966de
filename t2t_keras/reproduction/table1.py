"""Table 1: what a layer costs as the length n of its sequence grows, in seconds and in bytes.

The comparison layers are Keras' own. Each layer at each length is a line of OUTPUT/table1.jsonl,
and what stands there is not measured again; table1.md, table1.csv and table1.png are made of it.
A layer's lengths are timed in turn, so that a slower minute of the machine falls on all of them.
"""

import functools
import json
import operator
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
from absl import flags

from pipelines.progress import Progress
from pipelines.whole import only_one
from t2t_keras.cli.benchmarks.lengths import LENGTHS, lengths
from t2t_keras.cli.benchmarks.timing import ROUNDS
from t2t_keras.layers import LocalSelfAttention, MultiHeadAttention
from t2t_keras.layers.attention import head_widths
from t2t_keras.reproduction.layer_cost import MEMORY, in_a_process, memory, seconds
from t2t_keras.reproduction.output_flag import OUTPUT
from t2t_keras.reproduction.tables import circumstances, machine, number, write_table
from t2t_keras.visualization.scaling import scaling

WIDTH = flags.DEFINE_integer("d_model", 256, "table1: width d of the layers.", lower_bound=1)
HEADS = flags.DEFINE_integer("heads", 4, "table1: heads h of the attentions.", lower_bound=1)
NEIGHBOURHOOD = flags.DEFINE_integer("neighbourhood", 65, "table1: r.", lower_bound=1)
KERNEL = flags.DEFINE_integer("kernel", 3, "table1: k of the convolutions.", lower_bound=1)
# The benchmark of the attentions has this flag, too, and shows enough at half the length.
flags.set_default(LENGTHS, ["1024", "2048", "4096", "8192", "16384"])

FITTED_FROM = 1024  # below, what a call costs at any length hides how it grows
MEASURES = {
    "forward": ("forward", "ms", 1e3),
    "training": ("forward and backward", "ms", 1e3),
    "memory": ("memory, forward and backward", "MB", 1e-6),
}


class Row(NamedTuple):
    """What the paper says of a layer."""

    cost: str
    steps: str
    path: str


PAPER = {
    "self-attention": Row("O(n²·d)", "O(1)", "O(1)"),
    "recurrent": Row("O(n·d²)", "O(n)", "O(n)"),
    "convolutional": Row("O(k·n·d²)", "O(1)", "O(log_k n)"),
    "separable convolutional": Row("O(k·n·d + n·d²)", "O(1)", "O(log_k n)"),
    "restricted self-attention": Row("O(r·n·d)", "O(1)", "O(n/r)"),
}


def reproduce():
    width, heads = WIDTH.value, HEADS.value
    head_widths(width, heads, None, None)  # refuses heads that do not divide the width
    folder = Path(OUTPUT.value or "reproduced/table1")
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        settings = {
            "d_model": width,
            "heads": heads,
            "neighbourhood": NEIGHBOURHOOD.value,
            "kernel": KERNEL.value,
            "rounds": ROUNDS.value,
            "backend": keras.config.backend(),
            # In a process of its own, too: whoever asks for the devices begins to use them.
            "machine": in_a_process(machine),
        }
        known = read(folder / "table1.jsonl", settings)
        measure(folder / "table1.jsonl", settings, known)
        table = {name: {n: known[name, n] for n in lengths(LENGTHS.value)} for name in PAPER}
        text = write_table(folder / "table1", *columns_and_rows(table), notes(settings))
        draw(folder / "table1.png", table)
    print(text, end="")
    print(f"\n{folder}/table1.md, table1.csv, table1.png")


def read(path, settings):
    """What was measured before: for each (layer, n) its line."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = {}
    for line in lines:
        try:
            found = json.loads(line)
        except ValueError:  # it was stopped while it wrote this line
            continue
        for name, value in settings.items():
            if found.get(name) != value:
                raise ValueError(
                    f"{path} was measured with {name}={found.get(name)}, and not {value}: go on "
                    "with that, or give another --output"
                )
        known[found["layer"], found["n"]] = found
    return known


def measure(path, settings, known):
    """Measures what is not yet known, and writes each layer's lines as soon as they are."""
    missing = {
        name: [n for n in lengths(LENGTHS.value) if (name, n) not in known] for name in PAPER
    }
    with (
        path.open("a", encoding="utf-8") as file,
        Progress("measuring", sum(map(len, missing.values())), "layers and lengths") as progress,
    ):
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        progress.to(0)
        for name, new_layer in new_layers().items():
            for line in lines_of(name, new_layer, missing[name], settings):
                known[name, line["n"]] = line
                file.write(json.dumps(line) + "\n")
            file.flush()
            progress.to(progress.done + len(missing[name]))


def lines_of(name, new_layer, missing, settings):
    """A layer's lines, for the lengths that are missing."""
    width, rounds = settings["d_model"], settings["rounds"]
    if not missing:
        return []
    try:
        used = [in_a_process(memory, new_layer, n, width) for n in missing]
        taken = in_a_process(seconds, new_layer, missing, width, rounds)
    except RuntimeError as error:
        raise ValueError(
            f"{name} could not be measured at n = {', '.join(map(str, missing))} ({error}): if the "
            "memory was not enough, leave out the longest with --lengths. What was measured is kept"
        ) from error
    return [
        {"layer": name, "n": n, **of_n, "memory": bytes_used, **settings}
        for n, of_n, bytes_used in zip(missing, taken, used, strict=True)
    ]


def new_layers():
    """What makes each layer; not yet the layers, for which the backend would begin to work."""
    width, heads, kernel = WIDTH.value, HEADS.value, KERNEL.value
    convolution = {"filters": width, "kernel_size": kernel, "padding": "same"}
    return {
        "self-attention": functools.partial(MultiHeadAttention, heads, width),
        "recurrent": functools.partial(keras.layers.LSTM, width, return_sequences=True),
        "convolutional": functools.partial(keras.layers.Conv1D, **convolution),
        "separable convolutional": functools.partial(keras.layers.SeparableConv1D, **convolution),
        "restricted self-attention": functools.partial(
            LocalSelfAttention, heads, width, NEIGHBOURHOOD.value
        ),
    }


def fit(costs, measure):
    """Exponent and factor of factor · n^exponent, by least squares of the logarithms; or None."""
    fitted = {n: each[measure] for n, each in costs.items() if n >= FITTED_FROM}
    if len(fitted) < 2 or min(fitted.values()) <= 0:
        return None
    exponent, logarithm = np.polyfit(np.log(list(fitted)), np.log(list(fitted.values())), 1)
    return float(exponent), float(np.exp(logarithm))


def columns_and_rows(table):
    """For each measure a row for each layer."""
    rows = []
    for measure, (title, unit, scale) in MEASURES.items():
        for name, costs in table.items():
            found = fit(costs, measure)
            rows.append(
                {
                    "measured": f"{title}, {unit}",
                    "layer": name,
                    "cost": PAPER[name].cost,
                    **{f"n = {n:,}": number(scale * c[measure], ",.1f") for n, c in costs.items()},
                    "exponent of n": number(found and found[0]),
                }
            )
    return {name: operator.itemgetter(name) for name in rows[0]}, rows


def notes(settings):
    """What one must know to read the table."""
    d = settings["d_model"]
    paths = "; ".join(f"{name} {row.steps} and {row.path}" for name, row in PAPER.items())
    return [
        f"One sequence of n positions, d = {d}, h = {settings['heads']}, "
        f"r = {settings['neighbourhood']}, k = {settings['kernel']}, float32; "
        f"{settings['backend']}, medians of {settings['rounds']} calls. "
        "Recurrent, convolutional and separable convolutional are Keras' LSTM, Conv1D and "
        "SeparableConv1D.",
        f"The cost is the paper's. Its sequential steps and longest paths: {paths}.",
        f"The exponents are fitted by least squares in log–log, over n ≥ {FITTED_FROM:,}.",
        f"The paper's n²·d counts the two products of every position with every other. The four "
        f"projections of multi-head attention cost n·d² more, and are more than half of it while "
        f"n < 2·d = {2 * d:,}: narrow layers show the n² that wide ones show at greater lengths.",
        f"Memory is {MEMORY[settings['backend']]}.",
        *circumstances(),
    ]


def draw(path, table):
    panels = {}
    for measure, (title, unit, scale) in MEASURES.items():
        lines = {}
        for name, costs in table.items():
            points = {n: scale * each[measure] for n, each in costs.items()}
            found = fit(costs, measure)
            lines[name] = points, found and (found[0], scale * found[1])
        panels[f"{title}, {unit}"] = lines
    names = {name: f"{name}, {row.cost}" for name, row in PAPER.items()}
    unfinished = path.with_name(path.name + ".unfinished")
    scaling(unfinished, panels, names)
    unfinished.rename(path)
