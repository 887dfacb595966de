"""A report of a run, one page that works offline, for somebody who did not run it."""

import dataclasses
import datetime
import html
import io
import json
import math
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from t2t_keras.schedules import TransformerSchedule
from t2t_keras.visualization.curves import curves, schedule_curve
from t2t_keras.visualization.document import (
    bar,
    element,
    folded,
    html_of,
    paragraph,
    picture,
    section,
    table,
)
from t2t_keras.visualization.page import page

TEMPLATE = Path(__file__).with_name("report.html")
EXAMPLES = {
    "best": ("The best", "Long ones first among equals."),
    "middle": (
        "In the middle",
        "Half of the other lines are better than these, and half are worse.",
    ),
    "worst": ("The worst", "Often the reference says something else, or says it otherwise."),
    "all": ("All of them", "There are no more."),
}
LINES_OF_HISTORY = 12  # evaluations in the table; the picture has all of them


class RunFacts(NamedTuple):
    """What a run knows of itself."""

    name: str
    experiment: Any  # its settings: dataclasses, one in the other
    base: Any  # the paper's base model, in the same form
    weights: dict  # how many each part has
    evaluations: list  # dicts as in `metrics.jsonl`
    versions: dict  # of each package
    command: list  # the words of the command line


class Example(NamedTuple):
    """A sentence and its translations."""

    line: int  # from 1
    score: float  # its sentence BLEU
    source: str
    reference: str
    output: str


class Attention(NamedTuple):
    """The heads on one sentence."""

    example: Example
    heads: list  # `Heads` of every sub-layer


class TestFacts(NamedTuple):
    """What came out on a test set."""

    name: str
    part: str  # how many of its lines
    how: str  # weights and search
    scores: list  # of all lines together: `Score`s, BLEU first
    by_length: list  # `LengthGroup`s
    examples: dict  # lists of `Example`s, for some of the names in `EXAMPLES`
    attention: Attention | None


def report(run, test=None):
    """The report as HTML, with everything in it that it shows.

    Args:
        run: `RunFacts`.
        test: `TestFacts`. None: there was no test set, which the report says.
    """
    title = f"Report of the run {run.name}"
    parts = [
        element("h1", title),
        summary(run, test),
        figures(run, test),
        *(test_sections(test) if test else [no_test()]),
        learning(run),
        schedule(run),
        settings(run),
        weights(run),
        making(run),
    ]
    page = TEMPLATE.read_text(encoding="utf-8").replace("{{title}}", html.escape(title))
    return page.replace("{{body}}", html_of(element("main", *parts)))


def summary(run, test):
    model, training = run.experiment.model, run.experiment.training
    text = (
        f"A Transformer of {model.num_layers} + {model.num_layers} layers, {model.d_model} wide, "
        f"with {count_of(sum(run.weights.values()))} weights"
    )
    if not run.evaluations:
        return paragraph(text + f", to be trained for {training.steps:,} steps.")
    last = run.evaluations[-1]
    text += f", trained for {last['step']:,} of {training.steps:,} steps"
    if "tokens" in last:
        text += f" on {count_of(last['tokens'])} tokens, source and target together"
    if "seconds" in last:
        text += f", in {duration(last['seconds'])}"
    text += ". "
    if test:
        score = test.scores[0]
        text += (
            f"On {test.name} ({test.part}) its translations reach {score.name} {score.score:.1f}."
        )
    return paragraph(text.rstrip())


def figures(run, test):
    """The numbers that one looks for first."""
    found = []
    if test:
        score = test.scores[0]
        interval = "" if score.interval is None else f" ± {score.interval:.1f}"
        found.append((f"{score.score:.1f}{interval}", f"{score.name} on {score.lines:,} lines"))
    found.append((count_of(sum(run.weights.values()), "M", "G"), "weights"))
    last = run.evaluations[-1] if run.evaluations else {}
    shown = {
        "perplexity": ("{:.2f}", "perplexity a piece, held out"),
        "tokens": (None, "tokens seen"),
        "seconds": (None, "time of training, hours"),
        "flops": ("{:.1e}", "FLOPs of training"),
    }
    for name, (form, words) in shown.items():
        if last.get(name) is not None:
            value = last[name]
            text = form.format(value) if form else count_of(value, "M", "G")
            found.append((duration(value) if name == "seconds" else text, words))
    items = [
        element("li", element("strong", value), element("span", words)) for value, words in found
    ]
    return element("ul", *items, class_="figures")


def no_test():
    return section(
        "What it translates",
        paragraph(
            "No test set was given, so that this report holds only what the run itself recorded. "
            "With one it also shows BLEU, also by length of sentence, the best and the worst "
            "translations, and attention: ",
            element("code", "t2t-report RUN --source=test.en --reference=test.de"),
        ),
    )


def test_sections(test):
    yield section(
        "How good it is",
        paragraph(f"{test.name}, {test.part}, translated by {test.how}."),
        table(
            ["metric", "score", "lines", "computed as"],
            [
                [
                    score.name,
                    f"{score.score:.2f}" + interval_of(score),
                    f"{score.lines:,}",
                    element("code", score.signature),
                ]
                for score in test.scores
            ],
            numbers=(1, 2),
        ),
        paragraph(
            "BLEU counts how many words, and sequences of up to four words, the output shares with "
            "its reference, from 0 to 100; chrF does so with characters. A good translation in "
            "other words scores low. Only scores of the same lines with the same signature can be "
            "compared. ± is the 95 % interval over lines drawn anew.",
            class_="note",
        ),
        element("h3", "By length of the source sentence"),
        by_length(test.by_length),
    )
    yield section(
        "What it translates",
        paragraph(
            "Chosen by sentence BLEU, which says how far one line agrees with its reference. Where "
            "that is little, the translation may be wrong, or right in other words: read them."
        ),
        *(part for name, found in test.examples.items() for part in examples(name, found)),
    )
    if test.attention:
        yield attention(*test.attention)


def attention(example, heads):
    rows = max(len(each.looking) for each in heads)
    return section(
        "What it looks at",
        paragraph(
            f"The attention weights of every head on line {example.line:,}, a sentence of middling "
            "length. In cross-attention the words of the translation stand on the left, and lines "
            "lead to the words of the source that the model looked at when it wrote them."
        ),
        element(
            "iframe",
            srcdoc=page(heads, example.source, example.output, f"#decoder-cross-{heads[-1].layer}"),
            title="Attention",
            height=330 + 25 * rows,
        ),
    )


def by_length(groups):
    best = max(group.score for group in groups) or 1
    rows = [
        [
            f"{group.first}–{group.last}" if group.last else f"{group.first} and more",
            f"{group.lines:,}",
            f"{group.score:.1f}" + interval_of(group),
            bar(group.score / best),
        ]
        for group in groups
    ]
    return element(
        "div",
        table(["words", "lines", "BLEU", ""], rows, numbers=(0, 1, 2)),
        paragraph(
            "Words are what spaces separate. Few lines say little: see the intervals, which groups "
            "of fewer than ten lines do not have.",
            class_="note",
        ),
    )


def examples(name, found):
    title, explained = EXAMPLES[name]
    items = []
    for each in found:
        score = element("div", f"{each.score:.1f}", element("small", f"line {each.line:,}"))
        score.set("class", "score")
        texts = [
            element("p", element("small", name), element("bdi", text or "(nothing)"))
            for name, text in (
                ("source", each.source),
                ("reference", each.reference),
                ("output", each.output),
            )
        ]
        items.append(element("li", score, *texts))
    return element("h3", title), paragraph(explained), element("ul", *items, class_="pairs")


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
        paragraph(
            f"It rises for {training.warmup_steps:,} steps, the warm-up, to {peak:.2e}, then falls "
            f"with the inverse square root of the step, to {last:.2e} at step {training.steps:,}."
        ),
        picture(file.getvalue(), "The learning rate over the steps"),
    )


def settings(run):
    ours, base = (
        {name: value_of(value) for name, value in flat(dataclasses.asdict(each)).items()}
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


def flat(settings, before=""):
    """`{"model": {"d_ff": 8}}` → `{"model.d_ff": 8}`."""
    found = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= flat(value, f"{before}{name}.")
        else:
            found[before + name] = value
    return found


def value_of(value):
    """A setting as one reads it."""
    if value is None or value == "" or value == () or value == []:
        return "–"
    return value if isinstance(value, str) else json.dumps(value)


def count_of(number, million="million", billion="billion"):
    """A number as one says it: 2.9 million."""
    for size, name in ((1e9, billion), (1e6, million)):
        if number >= size:
            return f"{number / size:.1f} {name}"
    return f"{number:,.0f}"


def duration(seconds):
    return str(datetime.timedelta(seconds=round(seconds)))


def interval_of(score):
    return "" if score.interval is None else f" ± {score.interval:.1f}"


def finite(number):
    return number is not None and math.isfinite(number)
