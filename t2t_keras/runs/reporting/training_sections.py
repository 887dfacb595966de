"""The sections of a report on a run's data, hardware and training."""

import math

from t2t_keras.evaluation.held_out_metrics import names_in, without_sets
from t2t_keras.visualization.curves import curves, schedule_curve
from t2t_keras.visualization.document import element, folded, paragraph, picture, section, table

HISTORY_ROWS = 12  # maximum number of evaluations in the table; the plot shows all of them
# {metric of an evaluation: format in the table}
COLUMNS = {
    "train_loss": "{:.3f}",
    "loss": "{:.3f}",
    "perplexity": "{:.2f}",
    "token_accuracy": "{:.1%}",
    "bleu": "{:.1f}",
    "learning_rate": "{:.2e}",
    "tokens_per_second": "{:,.0f}",
}


def data_and_hardware(facts):
    """Returns the section on the training text and the hardware, given `data_facts`."""
    items = []
    for name, texts in facts.items():
        text = texts[0] if len(texts) == 1 else element("div", *(element("div", t) for t in texts))
        items += [element("dt", name), element("dd", text)]
    return section("Data and hardware", element("dl", *items, class_="facts"))


def learning(name, experiment, evaluations, intervals, comparison):
    """Returns the section on the course of the training.

    `comparison` is a text about the weights that were compared at the end, or None.
    """
    title = "Training"
    if not evaluations and not intervals:
        every = experiment.training.evaluate_every
        text = f"The run has no evaluation yet: the first comes after {every:,} steps."
        return section(title, paragraph(text))
    description = "Loss, perplexity, token accuracy, BLEU, learning rate and speed over the steps"
    return section(
        title,
        picture(description, curves, {name: [(evaluations, intervals)]}),
        paragraph(
            "A perplexity of k means that the model is as uncertain, on average, as if it chose "
            "among k equally likely tokens. Held-out sentences are not used for training. The BLEU "
            "in this picture was measured on greedy translations of held-out sentences. Training "
            "metrics are means over the steps since the previous point.",
            class_="note",
        ),
        paragraph(f"The weights were compared when training ended. {comparison}.")
        if comparison
        else None,
        folded("Table", history(evaluations)) if evaluations else None,
    )


def history(evaluations):
    """Returns a table of the evaluations, thinned, with the last one."""
    every = math.ceil(len(evaluations) / HISTORY_ROWS)
    kept = evaluations[::-every][::-1]
    of_sets = {}
    for name in names_in(kept):
        of_sets |= {f"{name}/{metric}": COLUMNS[metric] for metric in ("loss", "bleu")}
    forms = {"step": "{:,}", **COLUMNS, **of_sets}
    rows = [without_sets(each) | {name: each.get(name) for name in of_sets} for each in kept]
    names = [name for name in forms if any(row.get(name) is not None for row in rows)]
    cells = [
        ["–" if row.get(name) is None else forms[name].format(row[name]) for name in names]
        for row in rows
    ]
    titles = [name.replace("/", " ") if "/" in name else name.replace("_", " ") for name in names]
    return table(titles, cells, numbers=range(len(names)))


def schedule(experiment, reached):
    """Returns the section on the learning rate; `reached` is the last step, or None."""
    training, rate = experiment.training, experiment.schedule()
    # Keras counts steps from 0; the paper and this report count them from 1.
    rates = {step: float(rate(step - 1)) for step in (1, training.warmup_steps, training.steps)}
    texts = (f"{value:.2e} at step {step:,}" for step, value in sorted(rates.items()))
    return section(
        "Learning rate",
        paragraph(
            f"The schedule is {training.schedule}, with a warm-up of {training.warmup_steps:,} "
            f"steps. The rate is {', '.join(texts)}."
        ),
        picture("The learning rate over the steps", schedule_curve, rate, training.steps, reached),
    )
