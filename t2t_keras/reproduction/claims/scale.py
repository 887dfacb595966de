"""Division of attention scores by √d_k (§3.2.1): random vectors and learning curves."""

import math

import numpy as np

from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.toy_runs import curve, head_cells
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

WIDTHS = (16, 32, 64, 128, 256, 512, 1024)  # d_k of the random vectors
KEYS = 64  # random keys in each set
QUERIES = 50  # random queries in each set
SETS = 20  # number of sets of random vectors
HEADS = (8, 1)  # h of the trained models; d_k = d_model / h
NAMES = {"scaled": "divided by √d_k", "unscaled": "not divided"}


def statistics(d_k, divided):
    """Returns statistics of queries and keys with independent standard normal components.

    They are means over queries: the "variance" of the scores, the "entropy" of their softmax in
    nats, and the "gradient", the norm of the softmax's derivative with respect to the scores.
    """
    random = np.random.default_rng(0)
    queries = random.standard_normal((SETS, QUERIES, d_k))
    keys = random.standard_normal((SETS, KEYS, d_k))
    products = queries @ keys.swapaxes(1, 2) / (math.sqrt(d_k) if divided else 1)
    exponentials = np.exp(products - products.max(axis=-1, keepdims=True))
    p = exponentials / exponentials.sum(axis=-1, keepdims=True)
    entropy = -np.sum(p * np.log(np.maximum(p, 1e-300)), axis=-1)
    means = products.var(), entropy.mean(), softmax_gradient(p).mean()
    return dict(zip(("variance", "entropy", "gradient"), means, strict=True))


def softmax_gradient(p):
    """Returns the Frobenius norm of `diag(p) − p pᵀ` for distributions along the last axis."""
    squares = np.sum(p**2, axis=-1)
    return np.sqrt(np.maximum(squares - 2 * np.sum(p**3, axis=-1) + squares**2, 0))


def finding(toy_runs):
    measured = {
        attention: {d_k: statistics(d_k, attention == "scaled") for d_k in WIDTHS}
        for attention in NAMES
    }
    d_model = toy_runs.recipe({}).experiment.model.d_model
    runs = {
        (attention, heads): toy_runs.with_attention(attention, heads)
        for heads in HEADS
        for attention in NAMES
    }
    return Finding(
        title="Scores are divided by √d_k",
        claim="We suspect that for large values of d_k, the dot products grow large in magnitude, "
        "pushing the softmax function into regions where it has extremely small gradients (§3.2.1)",
        tables={
            "scale": [row(d_k, measured) for d_k in WIDTHS],
            "scale-runs": [
                {"scores": NAMES[attention], **head_cells(heads, d_model, run)}
                for (attention, heads), run in runs.items()
            ],
        },
        panels=[*statistics_panels(measured), *learning_panels(runs, d_model)],
        notes=[
            f"Random vectors: {SETS} × {QUERIES} queries, {KEYS} keys each, standard normal "
            f"components. The highest entropy is ln {KEYS} = {math.log(KEYS):.2f}.",
            toy_runs.note(),
        ],
    )


def row(d_k, measured):
    cells = {"d_k": str(d_k)}
    for field, form in (("variance", ",.2f"), ("entropy", ".2f"), ("gradient", ".3f")):
        for attention, name in NAMES.items():
            cells[f"{field}, {name}"] = number(measured[attention][d_k][field], form)
    return cells


def statistics_panels(measured):
    titles = {
        "variance": "variance of the scores",
        "entropy": "entropy of the softmax, nats",
        "gradient": "gradient of the softmax",
    }
    return [
        Panel(
            title,
            {
                NAMES[attention]: {d_k: each[field] for d_k, each in by_width.items()}
                for attention, by_width in measured.items()
            },
            "d_k",
            log_x=True,
            log_y=field == "variance",
        )
        for field, title in titles.items()
    ]


def learning_panels(runs, d_model):
    return [
        Panel(
            f"perplexity, {heads} heads with d_k = {d_model // heads}"
            if heads > 1
            else f"perplexity, one head with d_k = {d_model}",
            {name: curve(runs[attention, heads]) for attention, name in NAMES.items()},
            "step",
            log_y=True,
        )
        for heads in HEADS
    ]
