"""Bigger models need more data (§6.2): models of three sizes, trained on three amounts of text."""

from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.reproduction.claims.toy_runs import curve, last
from t2t_keras.reproduction.run_stages import millions_of
from t2t_keras.reproduction.texts import encoded_toy_grammar
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

WIDTHS = (48, 96, 192)  # d_model; d_ff is twice as large
PAIRS = (1_000, 6_000, 36_000)  # sentence pairs of the training text
HEADS = 4  # number of heads at every width
LONGER = 1.5  # steps relative to the other experiments, so that small texts are overfitted


def finding(toy_runs):
    largest = text_of(toy_runs, PAIRS[-1])
    vocabulary = largest.folder / "vocabulary"
    smaller = {pairs: text_of(toy_runs, pairs, vocabulary) for pairs in PAIRS[:-1]}
    texts = {**smaller, PAIRS[-1]: largest}
    runs = {
        (width, pairs): toy_runs.trained(
            f"size-{width}-{pairs}", changes_of(toy_runs, width, pairs), texts[pairs]
        )
        for pairs in PAIRS
        for width in WIDTHS
    }
    # Counted in the runs, which know the size of the vocabulary that was learned.
    counts = {width: 1e3 * millions_of(runs[width, PAIRS[-1]]) for width in WIDTHS}
    training = toy_runs.recipe(changes_of(toy_runs, WIDTHS[0], PAIRS[0])).experiment.training
    return Finding(
        title="Bigger models and more text",
        claim="Bigger models are better, and dropout is very helpful in avoiding over-fitting "
        "(§6.2)",
        tables={"size_by_data": [row(width, counts[width], runs) for width in WIDTHS]},
        panels=panels(runs),
        notes=[
            "Perplexity is the lowest of all evaluations, and after the slash the last one; BLEU "
            "is the highest. All texts have the sub-words of the largest one.",
            f"2 + 2 layers, {HEADS} heads, d_ff = 2 · d_model. Every model was trained for "
            f"{training.steps:,} steps, with one seed. The smallest text was read most often. "
            "Scored on held-out sentences with unseen combinations of verb and noun, by greedy "
            "search.",
        ],
    )


def text_of(toy_runs, pairs, vocabulary=None):
    folder = toy_runs.plan.folder / f"text-{pairs}"
    recipe = toy_runs.recipe(changes_of(toy_runs, WIDTHS[0], pairs))
    return encoded_toy_grammar(folder, recipe, vocabulary)


def changes_of(toy_runs, width, pairs):
    return {
        "model.num_heads": HEADS,
        "model.d_model": width,
        "model.d_ff": 2 * width,
        "data.toy_pairs": pairs,
        **toy_runs.longer(LONGER),
    }


def lowest(run):
    return min(curve(run).values(), default=float("nan"))


def highest_bleu(run):
    return max(curve(run, "bleu").values(), default=float("nan"))


def row(width, thousands, runs):
    cells = {"d_model": str(width), "10³ weights": number(thousands, ",.0f")}
    for pairs in PAIRS:
        run = runs[width, pairs]
        final = last(run, "perplexity")
        cells[f"perplexity, {pairs:,} pairs"] = f"{number(lowest(run))} / {number(final)}"
    for pairs in PAIRS:
        cells[f"BLEU, {pairs:,} pairs"] = number(highest_bleu(runs[width, pairs]), ".1f")
    return cells


def panels(runs):
    def name(width):
        return f"d_model {width}"

    curves = [
        Panel(
            f"perplexity, {pairs:,} pairs",
            {name(width): curve(runs[width, pairs]) for width in WIDTHS},
            "step",
            log_y=True,
        )
        for pairs in PAIRS
    ]
    best = [
        Panel(
            title,
            {name(width): {n: score(runs[width, n]) for n in PAIRS} for width in WIDTHS},
            "sentence pairs",
            log_x=True,
            log_y=score is lowest,
        )
        for title, score in (("lowest perplexity", lowest), ("highest BLEU", highest_bleu))
    ]
    return [*curves, *best]
