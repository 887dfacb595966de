"""The sections of a report on a run's training and settings."""

import datetime
import io
import json
import math
import shlex

from t2t_keras.evaluation.held_out_metrics import names_in, of_set, without_sets
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

# {schedule: how the learning rate falls after the warm-up}
FALLS = {
    "paper": "with the inverse square root of the step",
    "inverse_sqrt": "with the inverse square root of the step",
    "linear": "linearly",
    "constant": "",
}
HISTORY_ROWS = 12  # maximum number of evaluations in the table; the plot shows all of them


def learning(run):
    title = "Training"
    if not run.latest:
        every = run.experiment.training.evaluate_every
        return section(
            title,
            paragraph(f"The run has no evaluation yet: the first comes after {every:,} steps."),
        )
    file = io.BytesIO()
    curves(file, {run.name: (run.evaluations, run.intervals)})
    return section(
        title,
        paragraph(
            loss_text(run.evaluations)
            if run.evaluations
            else course(run.intervals, "training loss", end="step")
        ),
        picture(
            file.getvalue(),
            "Loss, perplexity, token accuracy, BLEU, learning rate and speed over the steps",
        ),
        paragraph(
            "A perplexity of k means that the model is as uncertain, on average, as if it chose "
            "among k equally likely tokens. Held-out sentences are not used for training. The BLEU "
            "in this picture was measured on greedy translations of held-out sentences. "
            "Training metrics are means over the steps since the previous point.",
            class_="note",
        ),
        paragraph(f"The weights were compared when training ended. {run.comparison}.")
        if run.comparison
        else None,
        folded("Table", history(run.evaluations)) if run.evaluations else None,
    )


def origin_of_weights(run):
    """Returns the section on training for an imported run, whose training is unknown."""
    return section(
        "Training",
        paragraph(
            f"The weights were imported from {run.imported}. How they were trained is not recorded "
            "here."
        ),
    )


def loss_text(evaluations):
    if names := names_in(evaluations):
        return " ".join(
            course(of_set(evaluations, name), f"held-out loss of {name}") for name in names
        )
    if any(each.get("loss") is not None for each in evaluations):
        return course(evaluations, "held-out loss")
    return course(evaluations, "training loss", "train_loss")


def course(lines, title, name="loss", end="the last evaluation, step"):
    """Describes how a loss changed over the evaluations, or over other `lines` with a step."""
    losses = {each["step"]: each[name] for each in lines if finite(each.get(name))}
    if not losses:
        return f"No {title} was recorded."
    first, last, best = min(losses), max(losses), min(losses, key=losses.get)
    text = f"The {title} was {losses[first]:.2f} at step {first:,}"
    if last != first:
        text += f" and {losses[last]:.2f} at {end} {last:,}"
    text += "."
    if best != last:
        text += f" It was lowest at step {best:,}: {losses[best]:.2f}."
    elif last != first:
        text += " It was still falling."
    return text


def history(evaluations):
    every = math.ceil(len(evaluations) / HISTORY_ROWS)
    kept = evaluations[::-every][::-1]  # includes the last evaluation
    sets = {}
    for name in names_in(kept):
        sets |= {f"{name}/loss": "{:.3f}", f"{name}/bleu": "{:.1f}"}
    kept = [without_sets(each) | {name: each.get(name) for name in sets} for each in kept]
    columns = {
        "step": "{:,}",
        "train_loss": "{:.3f}",
        "loss": "{:.3f}",
        "perplexity": "{:.2f}",
        "token_accuracy": "{:.1%}",
        "bleu": "{:.1f}",
        **sets,
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
    titles = [
        name.replace("/", " ") if name in sets else name.replace("_", " ") for name in columns
    ]
    return table(titles, rows, numbers=range(len(columns)))


def schedule(run):
    training, rate = run.experiment.training, run.experiment.schedule()
    file = io.BytesIO()
    schedule_curve(file, rate, training.steps, run.latest.get("step"))
    return section(
        "Learning rate",
        paragraph(element("code", formula(run.experiment))),
        paragraph(course_of_rate(training, rate)),
        picture(file.getvalue(), "The learning rate over the steps"),
    )


def course_of_rate(training, rate):
    """Describes how the learning rate changes over the steps."""
    warmup, steps = training.warmup_steps, training.steps
    # Keras counts steps from 0; the paper and this report count them from 1.
    peak, last = (float(rate(step - 1)) for step in (warmup, steps))
    if training.schedule not in FALLS:  # a plug-in's schedule
        return (
            f"It is {float(rate(0)):.2e} at step 1, {peak:.2e} at step {warmup:,}, the last of the "
            f"warm-up, and {last:.2e} at step {steps:,}."
        )
    if steps <= warmup:
        return (
            f"It rises throughout, to {last:.2e} at step {steps:,}, because the warm-up has "
            f"{warmup:,} steps."
        )
    rise = f"It rises to {peak:.2e} during the warm-up of {warmup:,} steps"
    if training.schedule == "constant":
        return f"{rise}, and stays there."
    return f"{rise}, then falls {FALLS[training.schedule]}, to {last:.2e} at step {steps:,}."


def formula(experiment):
    """Returns the formula of the learning rate at a step, as text."""
    training, warmup = experiment.training, f"{experiment.training.warmup_steps:,}"
    rate = f"{training.learning_rate:g}"
    if training.schedule == "paper":
        scale = "" if training.learning_rate == 1 else f"{rate} · "
        return f"{scale}{experiment.model.d_model}^−0.5 · min(step^−0.5, step · {warmup}^−1.5)"
    if training.schedule not in FALLS:
        options = training.schedule_options
        return f"{training.schedule}({options}), {rate}, warm-up {warmup}".replace("()", "")
    end = f"{training.steps + 1:,}"  # the first step with a learning rate of 0
    after = {
        "constant": "1",
        "linear": f"({end} − step) / ({end} − {warmup})",
        "inverse_sqrt": f"(step / {warmup})^−0.5",
    }
    return f"{rate} · min(step / {warmup}, {after[training.schedule]})"


def settings(run):
    ours, base = (
        {
            name: setting_text(value)
            for name, value in each.flat().items()
            if not (run.imported and name.startswith(("training.", "data.")))
        }
        for each in (run.experiment, run.base)
    )
    different = [name for name in ours if ours[name] != base.get(name)]
    return section(
        "Settings",
        paragraph(
            f"{len(different)} of {len(ours)} settings differ from those of the paper's base model."
        ),
        table(
            ["setting", "here", "base"],
            [
                [
                    element("code", name),
                    element("code", ours[name]),
                    element("code", base.get(name, "–")),
                ]
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
    total = sum(run.weights.values())
    rows = [
        [part, f"{count:,}", f"{count / total:.1%}", bar(count / max(run.weights.values()))]
        for part, count in run.weights.items()
    ]
    return section(
        "Weights",
        paragraph(f"The model has {total:,} weights."),
        table(["part", "weights", "share", ""], rows, numbers=(1, 2)),
    )


def origin(run):
    parts = [paragraph("Command:"), element("pre", element("code", shlex.join(run.command)))]
    last = run.evaluations[-1] if run.evaluations else {}
    if last.get("flops"):
        parts.append(
            paragraph(
                f"Training cost {last['flops']:.1e} floating-point operations, estimated as in the "
                "paper's Table 2: time × devices × the sustained rate of a device."
            )
        )
    parts.append(
        table(["package", "version"], [[name, version] for name, version in run.versions.items()])
    )
    today = datetime.date.today().isoformat()
    return section(
        "Command and versions", *parts, paragraph(f"Report written on {today}.", class_="note")
    )


def setting_text(value):
    """Formats the value of a setting; empty values become a dash."""
    if value is None or value == "" or value == () or value == []:
        return "–"
    return value if isinstance(value, str) else json.dumps(value)


def finite(number):
    return number is not None and math.isfinite(number)
