"""The part of a report that says how a run was trained, and with which settings."""

import datetime
import io
import json
import math
import shlex

from t2t_keras.schedules import TransformerSchedule
from t2t_keras.visualization.curves import curves, schedule_curve
from t2t_keras.visualization.document import (
    bar,
    element,
    folded,
    paragraph,
    picture,
    section,
    table,
)

LINES_OF_HISTORY = 12  # evaluations in the table; the picture has all of them


def learning(run):
    title = "How it learned"
    if not run.evaluations:
        every = run.experiment.training.evaluate_every
        return section(
            title,
            paragraph(f"The run has no evaluation yet: the first comes after {every:,} steps."),
        )
    file = io.BytesIO()
    curves(file, {run.name: run.evaluations})
    return section(
        title,
        paragraph(what_it_read(run.experiment.data)),
        paragraph(how_it_went(run.evaluations)),
        picture(file.getvalue(), "Loss, perplexity, BLEU and learning rate over the steps"),
        paragraph(
            "Perplexity says among how many equally likely pieces the model hesitates on average. "
            "Held out are sentences that it is not trained on; BLEU in this picture is theirs, as "
            "the model translated them while it was trained.",
            class_="note",
        ),
        folded("In numbers", history(run.evaluations)),
    )


def what_it_read(data):
    text = f"It was trained on {data.folder or 'the embedded toy grammar'}"
    if data.dev_source:
        return f"{text}, and evaluated on {data.dev_source} and {data.dev_target}."
    if not data.folder:
        return f"{text}, and evaluated on combinations of words that the training does not have."
    return f"{text}, and not evaluated on anything else."


def how_it_went(evaluations):
    name = "loss" if evaluations[-1].get("loss") is not None else "train_loss"
    of = "held-out" if name == "loss" else "training"
    losses = {each["step"]: each[name] for each in evaluations if finite(each.get(name))}
    if not losses:
        return "No loss was recorded."
    first, last, best = min(losses), max(losses), min(losses, key=losses.get)
    text = f"The {of} loss was {losses[first]:.2f} after {first:,} steps"
    if last != first:
        text += f" and {losses[last]:.2f} in the end, after {last:,}"
    text += "."
    if best != last:
        text += f" It was lowest, {losses[best]:.2f}, after {best:,}."
    elif last != first:
        text += " It was still falling at the last evaluation."
    return text


def history(evaluations):
    every = math.ceil(len(evaluations) / LINES_OF_HISTORY)
    kept = evaluations[::-every][::-1]  # the last one is among them
    columns = {
        "step": "{:,}",
        "train_loss": "{:.3f}",
        "loss": "{:.3f}",
        "perplexity": "{:.2f}",
        "token_accuracy": "{:.1%}",
        "bleu": "{:.1f}",
        "learning_rate": "{:.2e}",
        "tokens_per_second": "{:,.0f}",
    }
    columns = {
        name: form
        for name, form in columns.items()
        if any(each.get(name) is not None for each in kept)
    }
    rows = [
        [
            "–" if each.get(name) is None else form.format(each[name])
            for name, form in columns.items()
        ]
        for each in kept
    ]
    return table([name.replace("_", " ") for name in columns], rows, numbers=range(len(columns)))


def schedule(run):
    model, training = run.experiment.model, run.experiment.training
    rate = TransformerSchedule(model.d_model, training.warmup_steps, training.learning_rate)
    # Keras counts from 0, the paper and this report from 1.
    peak, last = (float(rate(step - 1)) for step in (training.warmup_steps, training.steps))
    scale = "" if training.learning_rate == 1 else f"{training.learning_rate:g} · "
    if training.steps > training.warmup_steps:
        course = (
            f"It rises for {training.warmup_steps:,} steps, the warm-up, to {peak:.2e}, then falls "
            f"with the inverse square root of the step, to {last:.2e} at step {training.steps:,}."
        )
    else:
        course = (
            f"It rises to the end, to {last:.2e} at step {training.steps:,}: the warm-up has "
            f"{training.warmup_steps:,}."
        )
    file = io.BytesIO()
    reached = run.evaluations[-1]["step"] if run.evaluations else None
    schedule_curve(file, rate, training.steps, reached)
    return section(
        "The learning rate",
        paragraph(
            element(
                "code",
                f"{scale}{model.d_model}^−0.5 · min(step^−0.5, step · "
                f"{training.warmup_steps:,}^−1.5)",
            )
        ),
        paragraph(course),
        picture(file.getvalue(), "The learning rate over the steps"),
    )


def settings(run):
    ours, base = (
        {name: value_of(value) for name, value in each.flat().items()}
        for each in (run.experiment, run.base)
    )
    different = [name for name in ours if ours[name] != base[name]]
    return section(
        "Settings",
        paragraph(
            f"{len(different)} of {len(ours)} settings differ from the paper's base model and its "
            "training."
        ),
        table(
            ["setting", "here", "base"],
            [
                [element("code", name), element("code", ours[name]), element("code", base[name])]
                for name in different
            ],
        )
        if different
        else None,
        folded(
            "All settings",
            table(
                ["setting", "here"],
                [[element("code", name), element("code", value)] for name, value in ours.items()],
            ),
        ),
    )


def weights(run):
    whole = sum(run.weights.values())
    rows = [
        [part, f"{count:,}", f"{count / whole:.1%}", bar(count / max(run.weights.values()))]
        for part, count in run.weights.items()
    ]
    return section(
        "Weights",
        paragraph(f"{whole:,} numbers were learned:"),
        table(["part", "weights", "share", ""], rows, numbers=(1, 2)),
    )


def making(run):
    parts = [paragraph("The command:"), element("pre", element("code", shlex.join(run.command)))]
    last = run.evaluations[-1] if run.evaluations else {}
    if last.get("flops"):
        parts.append(
            paragraph(
                f"Training cost {last['flops']:.1e} floating-point operations, counted as the "
                "paper's Table 2 does: time × devices × the rate that a device sustains."
            )
        )
    parts.append(
        table(["package", "version"], [[name, found] for name, found in run.versions.items()])
    )
    today = datetime.date.today().isoformat()
    return section("How it was made", *parts, paragraph(f"Report of {today}.", class_="note"))


def value_of(value):
    """A setting as one reads it."""
    if value is None or value == "" or value == () or value == []:
        return "–"
    return value if isinstance(value, str) else json.dumps(value)


def finite(number):
    return number is not None and math.isfinite(number)
