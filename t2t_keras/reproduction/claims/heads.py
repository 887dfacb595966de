"""Many attention heads versus one (§3.2.2): attention weights, and BLEU without each head."""

from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.head_analysis import LOOKED_AT, TRANSLATED, analyse
from t2t_keras.reproduction.claims.toy_runs import analysed
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

HEADS = {"8 heads": 8, "one head": 1}  # {name of the model: number of heads}
TITLES = {
    "entropy": "entropy of a head's weights, nats",
    "distance": "distance to the positions it looks at",
    "agreement": "agreement with the grammar's word links",
    "bleu": "BLEU without the head",
}
COLUMNS = {"entropy": ".2f", "distance": ".1f", "agreement": ".2f", "bleu": ".1f"}  # their formats
WIDTH = 0.6  # width of a sub-layer's group of heads in a panel, in units of the x axis


def finding(toy_runs):
    key = {"sentences": [LOOKED_AT, TRANSLATED]}
    results = {
        name: analysed(toy_runs.with_attention("scaled", heads), "heads", analyse, key)
        for name, heads in HEADS.items()
    }
    return Finding(
        title="Many heads instead of one",
        claim="Multi-head attention allows the model to jointly attend to information from "
        "different representation subspaces at different positions. With a single attention head, "
        "averaging inhibits this (§3.2.2)",
        tables={
            "heads": [
                row(name, result, sublayer)
                for name, result in results.items()
                for sublayer in result["heads"]
            ]
        },
        panels=panels(results),
        notes=[
            f"Weights: {LOOKED_AT} held-out sentences. Agreement is 1 − alignment error rate of "
            "a cross-attention head, in the step that writes or reads a word, whichever is better. "
            f"BLEU: {TRANSLATED} held-out sentences, with the rows of W^O of one head set to 0.",
            toy_runs.note(),
        ],
    )


def title_of(sublayer):
    stack, index, kind = sublayer.split("/")
    return f"{'cross' if kind == 'cross_attention' else stack} {int(index) + 1}"


def row(name, result, sublayer):
    cells = {"model": name, "BLEU": number(result["bleu"], ".1f")}
    cells["sub-layer"] = title_of(sublayer)
    for field, form in COLUMNS.items():
        found = (head[field] for head in result["heads"][sublayer] if head[field] is not None)
        column = "BLEU without each head" if field == "bleu" else field
        cells[column] = " ".join(number(value, form) for value in found)
    return cells


def panels(results):
    return [
        Panel(
            title,
            {
                name: side_by_side(
                    [head[field] for heads in result["heads"].values() for head in heads],
                    HEADS[name],
                )
                for name, result in results.items()
            },
            "encoder and decoder: self-attention; cross: cross-attention",
            joined=False,
            ticks={
                index: title_of(sublayer)
                for index, sublayer in enumerate(results["8 heads"]["heads"])
            },
        )
        for field, title in TITLES.items()
    ]


def side_by_side(values, heads, width=WIDTH):
    """Returns {x: value} for heads, layer by layer; skips None. Heads of a layer share a tick."""
    return {
        index // heads + width * ((index % heads + 0.5) / heads - 0.5): value
        for index, value in enumerate(values)
        if value is not None
    }
