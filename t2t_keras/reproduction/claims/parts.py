"""The effect of residual connections, layer norm, warm-up and smoothing (§3.1, §5.3, §5.4).

Each variant leaves out one part. The paper's schedule ties the warm-up to the decay of the learning
rate, so the variant without a warm-up has a constant learning rate. Compare this variant with the
variant that has a warm-up followed by the same constant learning rate.
"""

from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.toy_runs import curve, last
from t2t_keras.stages.table_writer import number, signed
from t2t_keras.visualization.panels import Panel

COMPLETE = "complete"  # name of the complete model
HEADS = 8  # number of heads; other experiments share the run of the complete model


def variants(training, d_model):
    """Returns {name of the variant: its changes to the complete model}."""
    rate = highest_rate(training, d_model)
    constant = {"training.schedule": "constant", "training.learning_rate": rate}
    return {
        "without residuals": {"model.residual": False},
        "without layer norm": {"model.layer_norm": False},
        "without smoothing": {"training.label_smoothing": 0.0},
        "constant rate, warm-up": constant,
        "constant rate, no warm-up": {**constant, "training.warmup_steps": 1},
    }


def highest_rate(training, d_model):
    """Returns the highest learning rate, which is reached at the end of the warm-up."""
    if training.schedule != "paper":
        return training.learning_rate
    return training.learning_rate * (d_model * training.warmup_steps) ** -0.5


def finding(toy_runs):
    settings = toy_runs.recipe({}).experiment
    training, d_model = settings.training, settings.model.d_model
    runs = {COMPLETE: toy_runs.with_attention("scaled", HEADS)}
    for name, changes in variants(training, d_model).items():
        folder = f"parts-{name.replace(',', '').replace(' ', '-')}"
        runs[name] = toy_runs.trained(folder, {"model.num_heads": HEADS, **changes})
    return Finding(
        title="Residuals, layer norm, warm-up and smoothing left out",
        claim="Residual connection and layer normalization around each of the two sub-layers "
        "(§3.1); the learning rate increases linearly for the first warm-up steps (§5.3); label "
        "smoothing hurts perplexity, but improves accuracy and BLEU score (§5.4)",
        tables={"parts": [row(name, run, runs[COMPLETE]) for name, run in runs.items()]},
        panels=[
            Panel(
                f"{title} on held-out text",
                {name: curve(run, metric) for name, run in runs.items()},
                "step",
                log_y=metric == "perplexity",
            )
            for metric, title in (("perplexity", "perplexity"), ("bleu", "BLEU"))
        ],
        notes=[
            f"The constant learning rate is {highest_rate(training, d_model):.2g}, the highest of "
            "the complete model's schedule.",
            toy_runs.note(),
        ],
    )


def row(name, run, complete):
    perplexity, bleu = (last(run, metric) for metric in ("perplexity", "bleu"))
    return {
        "model": name,
        "perplexity": number(perplexity, ".3f"),
        "perplexity − complete": signed(perplexity, last(complete, "perplexity"), "+.3f"),
        "BLEU": number(bleu, ".1f"),
        "BLEU − complete": signed(bleu, last(complete, "bleu"), "+.1f"),
    }
