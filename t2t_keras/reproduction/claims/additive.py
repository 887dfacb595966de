"""Additive versus dot-product attention (§3.2.1): quality over d_k, time and memory over n."""

import functools

import keras

from t2t_keras.layers import MultiHeadAttention
from t2t_keras.layers.scaled_dot_product import SCORES
from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.toy_runs import head_cells, last
from t2t_keras.reproduction.layer_cost import MEASURES, MEMORY, costs
from t2t_keras.stages.once import once
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

HEADS = (8, 2, 1)  # h of the trained models; d_k = d_model / h
LENGTHS = (64, 128, 256, 512)  # n of the measured layer
D_MODEL = 128  # d_model of the measured layer
LAYER_HEADS = 4  # h of the measured layer
ROUNDS = 5  # timed calls of the layer at each length


def finding(toy_runs):
    settings = {
        "lengths": list(LENGTHS),
        "d_model": D_MODEL,
        "heads": LAYER_HEADS,
        "rounds": ROUNDS,
        "backend": keras.config.backend(),
    }
    measured = once(toy_runs.plan.folder / "additive.json", settings, measure)
    d_model = toy_runs.recipe({}).experiment.model.d_model
    runs = {
        (attention, heads): toy_runs.with_attention(attention, heads)
        for attention in SCORES
        for heads in HEADS
    }
    return Finding(
        title="Dot products instead of additive attention",
        claim="While the two are similar in theoretical complexity, dot-product attention is much "
        "faster and more space-efficient in practice … While for small values of d_k the two "
        "mechanisms perform similarly, additive attention outperforms dot product attention "
        "without scaling for larger values of d_k (§3.2.1)",
        tables={
            "additive": [cost_row(n, measured) for n in LENGTHS],
            "additive-runs": [
                {"attention": attention, **head_cells(heads, d_model, run)}
                for (attention, heads), run in runs.items()
            ],
        },
        panels=[*cost_panels(measured), *quality_panels(runs, d_model)],
        notes=[
            f"Time and memory: one sequence of n positions, d = {D_MODEL}, h = {LAYER_HEADS}, "
            f"float32; {settings['backend']}, medians of {ROUNDS} calls. Memory is "
            f"{MEMORY[settings['backend']]}.",
            toy_runs.note(),
        ],
    )


def measure():
    """Returns {kind of attention: [{measure: cost} for each length]}."""
    return {
        attention: costs(
            functools.partial(MultiHeadAttention, LAYER_HEADS, D_MODEL, attention=attention),
            *(LENGTHS, D_MODEL, ROUNDS),
        )
        for attention in SCORES
    }


def cost_row(n, measured):
    row = {"n": f"{n:,}"}
    for measure_name, (title, scale) in MEASURES.items():
        for attention in ("scaled", "additive"):
            cost = measured[attention][LENGTHS.index(n)][measure_name]
            row[f"{title}, {attention}"] = number(scale * cost, ",.1f")
    return row


def cost_panels(measured):
    return [
        Panel(
            title,
            {
                attention: {
                    n: scale * cost[name] for n, cost in zip(LENGTHS, of_lengths, strict=True)
                }
                for attention, of_lengths in measured.items()
            },
            "n",
            log_x=True,
            log_y=True,
        )
        for name, (title, scale) in MEASURES.items()
    ]


def quality_panels(runs, d_model):
    return [
        Panel(
            title,
            {
                attention: {
                    d_model // heads: last(runs[attention, heads], metric) for heads in HEADS
                }
                for attention in SCORES
            },
            "d_k = d_model / h",
            log_x=True,
        )
        for metric, title in (("perplexity", "perplexity"), ("bleu", "BLEU"))
    ]
