"""A report of a run, one page that works offline, for somebody who did not run it."""

import datetime
import functools
import html
from pathlib import Path
from typing import Any, NamedTuple

from t2t_keras.visualization.document import (
    bar,
    element,
    html_of,
    paragraph,
    section,
    table,
)
from t2t_keras.visualization.page import page
from t2t_keras.visualization.report_of_training import learning, making, schedule, settings, weights

TEMPLATE = Path(__file__).with_name("report.html")
EXAMPLES = {
    "best": ("The best", "Long ones first among equals."),
    "middle": (
        "In the middle",
        "In the order of the scores, half of the other lines come before these, and half after.",
    ),
    "worst": ("The worst", "Often the reference says something else, or says it otherwise."),
    "all": ("All of them", "There are no more."),
}


class RunFacts(NamedTuple):
    """What a run knows of itself."""

    name: str
    experiment: Any  # its settings, an `Experiment`
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


def chosen(lines, most):
    """The best, the middle and the worst lines, long ones first among equals; or all, if few.

    Args:
        lines: `Example`s.
        most: how many of each.
    """
    count = min(most, len(lines) // 3)
    best = sorted(lines, key=lambda line: (-line.score, -len(line.source)))
    if not count:
        return {"all": best}
    # Where many have the same score, none is to be found twice.
    worst = sorted(best[count:], key=lambda line: (line.score, -len(line.source)))
    middle = [line for line in best[count:] if line not in worst[:count]]
    start = (len(middle) - count) // 2
    return {
        "best": best[:count],
        "middle": middle[start : start + count],
        "worst": worst[:count],
    }


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
    text = TEMPLATE.read_text(encoding="utf-8").replace("{{title}}", html.escape(title))
    return text.replace("{{body}}", html_of(element("main", *parts)))


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
    short = functools.partial(count_of, million="M", billion="G")
    found = []
    if test:
        score = test.scores[0]
        text = f"{score.score:.1f}{interval_of(score)}"
        found.append((text, f"{score.name} on {score.lines:,} lines"))
    found.append((short(sum(run.weights.values())), "weights"))
    last = run.evaluations[-1] if run.evaluations else {}
    shown = {
        "perplexity": ("{:.2f}".format, "perplexity a piece, held out"),
        "tokens": (short, "tokens seen"),
        "seconds": (duration, "time of training, hours"),
        "flops": ("{:.1e}".format, "FLOPs of training"),
    }
    for name, (written, words) in shown.items():
        if last.get(name) is not None:
            found.append((written(last[name]), words))
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
            element("p", element("small", side), element("bdi", text or "(nothing)"))
            for side, text in (
                ("source", each.source),
                ("reference", each.reference),
                ("output", each.output),
            )
        ]
        items.append(element("li", score, *texts))
    return element("h3", title), paragraph(explained), element("ul", *items, class_="pairs")


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
