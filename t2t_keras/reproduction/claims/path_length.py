"""Path length (Table 1, last column): gradients over distance in trained encoders of each kind.

Table 1 counts the steps between two positions. This experiment measures the gradients between two
positions, for each distance and layer.
"""

import math
from typing import NamedTuple

from t2t_keras.reproduction.claims.chained_text import encoded_chains
from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.gradient_reach import QUERIES, gradients_over_distance
from t2t_keras.reproduction.claims.toy_runs import CONFIG, analysed, scores
from t2t_keras.reproduction.longest_path import longest_path
from t2t_keras.reproduction.texts import pair_paths
from t2t_keras.runs.text_files import read_lines
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

LONGEST = 60  # maximum tokens of a line
LINES = 20  # number of lines on which gradients are measured
LAYERS = 3  # layers of each encoder and decoder
DISTANCES = (1, 4, 16, 32)  # distances in the table
FARTHEST = 40  # maximum distance in the plot; the shortest lines have fewer than LONGEST tokens
NEIGHBOURHOOD = 9  # r of restricted self-attention
# Learning rate relative to the other experiments, whose models have fewer layers.
LOWER_RATE = 5 / 12


class Kind(NamedTuple):
    config: str  # name of the config with the model
    changes: dict  # {setting: value} for this kind
    name: str  # name of the layer in the table and the plot


KINDS = {
    "self-attention": Kind(CONFIG, {}, "self-attention"),
    "restricted": Kind(
        CONFIG,
        {"model.neighbourhood": NEIGHBOURHOOD},
        f"restricted self-attention, r = {NEIGHBOURHOOD}",
    ),
    "recurrent": Kind("gnmt:multi30k", {}, "recurrent (GNMT)"),
    "convolutional": Kind("convs2s:multi30k", {}, "convolutional, k = 3 (ConvS2S)"),
    "dilated": Kind("bytenet:multi30k", {}, "dilated convolutional, k = 3 (ByteNet)"),
}


def finding(toy_runs):
    folder = toy_runs.plan.folder / "long_lines"
    shared = shared_changes(toy_runs)
    text = encoded_chains(folder, toy_runs.recipe(shared), LONGEST, [LONGEST] * LINES)
    lines = read_lines(pair_paths(folder, "test")[0])
    runs, paths = {}, {}
    for name, kind in KINDS.items():
        changes = shared | kind.changes
        runs[name] = toy_runs.trained(f"path-{name}", changes, text, kind.config)
        paths[name] = longest_path(toy_runs.recipe(changes, kind.config).experiment.model)
    key = {"lines": lines, "queries": QUERIES}
    reach = {
        name: relative(analysed(run, "gradients", gradients_over_distance, key, lines))
        for name, run in runs.items()
    }
    rows = [row(name, paths[name], reach[name], runs[name]) for name in KINDS]
    return Finding(
        title="Short paths between distant positions",
        claim="The shorter these paths between any combination of positions in the input and "
        "output sequences, the easier it is to learn long-range dependencies (§4)",
        tables={"path_length": rows},
        panels=panels(reach),
        notes=[
            f"Models of {LAYERS} + {LAYERS} layers with the widths of their configs, so their BLEU "
            "is no comparison. Gradient: norm of the derivative of a random projection of the "
            "vector at one position with respect to the embedding at another; mean over all pairs "
            f"of this distance, from {QUERIES} positions of each of {LINES} held-out lines, "
            "relative to distance 0.",
            "The first layer of the recurrent encoder reads in both directions. The dilations "
            "are 1, 2 and 4.",
            toy_runs.training_note(f"chains of sentences of up to {LONGEST} tokens"),
        ],
    )


def shared_changes(toy_runs):
    rate = toy_runs.recipe({}).experiment.training.learning_rate
    return {
        "model.num_layers": LAYERS,
        "model.dropout": 0.1,
        "training.learning_rate": LOWER_RATE * rate,
        "data.batches.max_length": LONGEST + 1,
    }


def relative(layers):
    """Divides each layer's gradients by its gradient at distance 0; NaN if training diverged."""
    return [
        [value / layer[0] if layer[0] else math.nan for value in layer[: FARTHEST + 1]]
        for layer in layers
    ]


def farthest(layer):
    """Returns the largest distance with a nonzero gradient."""
    return max((distance for distance, value in enumerate(layer) if value > 0), default=0)


def row(name, path, layers, run):
    cells = {"layers of the encoder": KINDS[name].name, "longest path": path}
    for distance in DISTANCES:
        cells[f"gradient over {distance}"] = number(layers[-1][distance], ".2g")
    cells["farthest after 1 layer"] = str(farthest(layers[0]))
    cells[f"after {LAYERS}"] = str(farthest(layers[-1]))
    return cells | scores(run, ".2f")


def panels(reach):
    def curve(layer):
        return {distance: value or math.nan for distance, value in enumerate(layer)}

    def panel(title, lines):
        return Panel(title, lines, "distance in tokens", log_y=True, scale="gradient")

    return [
        *(
            panel(
                KINDS[name].name,
                {f"after layer {k}": curve(layer) for k, layer in enumerate(layers, 1)},
            )
            for name, layers in reach.items()
        ),
        panel(
            f"all kinds after layer {LAYERS}",
            {name: curve(layers[-1]) for name, layers in reach.items()},
        ),
    ]
