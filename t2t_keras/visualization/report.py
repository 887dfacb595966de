"""The report of a run: a page that works offline, for readers who did not train the model."""

import datetime
import functools
from pathlib import Path
from typing import Any, NamedTuple

from t2t_keras.evaluation.held_out_metrics import by_set
from t2t_keras.models import model_class
from t2t_keras.visualization.confidence_report import confidence
from t2t_keras.visualization.data_report import data_and_hardware
from t2t_keras.visualization.document import (
    bar,
    element,
    html_of,
    paragraph,
    section,
    table,
)
from t2t_keras.visualization.marked_words import marked
from t2t_keras.visualization.page import filled, page
from t2t_keras.visualization.training_report import (
    learning,
    origin,
    origin_of_weights,
    schedule,
    settings,
    weights,
)

TEMPLATE = Path(__file__).with_name("report.html")
EXAMPLES = {
    "best": ("Best", "Among equal scores, the longest sources."),
    "middle": ("Middle", "Half of the remaining lines rank higher, half lower."),
    "worst": ("Worst", "Often the reference differs in content, or is worded differently."),
    "all": ("All lines", "The test set has no other lines."),
}


class RunFacts(NamedTuple):
    """A run's name, settings and recorded results."""

    name: str
    experiment: Any  # the `Experiment` with the run's settings
    base: Any  # the `Experiment` with the settings of the paper's base model
    weights: dict  # {part of the model: number of weights}
    evaluations: list  # dicts as in `metrics.jsonl`
    intervals: list  # dicts as in `training.jsonl`; none in runs of earlier versions
    versions: dict  # {package: version}
    command: list  # words of the command line
    imported: str | None = None  # name of the system that trained the model, if imported
    comparison: str | None = None  # result of comparing weights at the end of training
    languages: tuple = ()  # names of the source and target languages, if recorded
    corpora: list = ()  # as in config.json
    held_out: dict = {}  # {name of a held-out set: number of pairs}
    hardware: list = ()  # (steps before, description of the hardware), in ascending order

    @property
    def latest(self):
        """The last line of `metrics.jsonl` or `training.jsonl`; {} before the first."""
        lines = [*self.evaluations[-1:], *self.intervals[-1:]]
        return max(lines, key=lambda line: line["step"], default={})


class ExampleTranslation(NamedTuple):
    """A test sentence with its reference and the model's output."""

    line: int  # counted from 1
    score: float  # sentence BLEU
    source: str
    reference: str
    output: str


class Attention(NamedTuple):
    """The attention on one sentence."""

    example: ExampleTranslation
    heads: list  # the `Heads` of every sub-layer


class TestFacts(NamedTuple):
    """The results on a test set."""

    name: str
    part: str  # lines that were used, for example "its first 200 lines"
    how: str  # weights and search, for example "weights: averaged; beam 4"
    scores: list  # `Score`s of all lines together, BLEU first
    by_length: list  # `LengthGroup`s
    examples: dict  # {name in `EXAMPLES`: list of `ExampleTranslation`s}
    calibration: Any  # the `Calibration` of the words; None if there are no words
    attention: Attention | None


def chosen(lines, most):
    """Returns the best, middle and worst lines, or all lines if there are few.

    Among equal scores, long sources come first. No source occurs twice.

    Args:
        lines: `ExampleTranslation`s.
        most: maximum size of each group.
    """
    different = {}
    for line in lines:
        different.setdefault(line.source, line)
    count = min(most, len(different) // 3)
    best = sorted(different.values(), key=lambda line: (-line.score, -len(line.source)))
    if not count:
        return {"all": best}
    worst = sorted(best[count:], key=lambda line: (line.score, -len(line.source)))
    middle = [line for line in best[count:] if line not in worst[:count]]
    start = (len(middle) - count) // 2
    return {
        "best": best[:count],
        "middle": middle[start : start + count],
        "worst": worst[:count],
    }


def report(run, test=None):
    """Returns the report as one HTML page.

    Args:
        run: `RunFacts`.
        test: `TestFacts`, or None if there was no test set.
    """
    title = f"Report on run {run.name}"
    parts = [
        element("h1", title),
        summary(run, test),
        key_figures(run, test),
        *(test_sections(test) if test else [no_test()]),
        *training_sections(run),
        settings(run),
        weights(run),
        origin(run),
    ]
    title, body = html_of(element("title", title)), html_of(element("main", *parts))
    return filled(TEMPLATE, title=title, body=body)


def training_sections(run):
    if run.imported:
        return [origin_of_weights(run)]
    return [data_and_hardware(run), learning(run), schedule(run)]


def summary(run, test):
    model, training = run.experiment.model, run.experiment.training
    text = (
        f"A {model_class(model).__name__} with {' + '.join(map(str, model.layers))} layers, "
        f"d_model {model.d_model} and {count_text(sum(run.weights.values()))} weights"
    )
    if run.languages:
        text += f", which translates from {' to '.join(run.languages)}"
    if run.imported:
        return paragraph(f"{text}, trained by a different system ({run.imported}).")
    last = run.latest
    if not last:
        return paragraph(text + f", to be trained for {training.steps:,} steps.")
    text += f", trained for {last['step']:,} of {training.steps:,} steps"
    if "tokens" in last:
        text += f" on {count_text(last['tokens'])} tokens (source and target together)"
    if "seconds" in last:
        text += f" in {duration(last['seconds'])}"
    text += ". "
    if test:
        score = test.scores[0]
        text += f"{score.name} on {test.name} ({test.part}): {score.score:.1f}."
    return paragraph(text.rstrip())


def key_figures(run, test):
    short = functools.partial(count_text, million="M", billion="G")
    figures = []
    if test:
        score = test.scores[0]
        text = f"{score.score:.1f}{interval_of(score)}"
        figures.append((text, f"{score.name} on {score.lines:,} lines"))
    figures.append((short(sum(run.weights.values())), "weights"))
    evaluation = run.evaluations[-1] if run.evaluations else {}
    last = evaluation | {k: v for k, v in run.latest.items() if k in ("tokens", "seconds")}
    main = f" ({next(iter(by_set(evaluation)))})" if by_set(evaluation) else ""
    formats = {
        "perplexity": ("{:.2f}".format, f"held-out perplexity per token{main}"),
        "tokens": (short, "training tokens"),
        "seconds": (duration, "training time (h:mm:ss)"),
        "flops": ("{:.1e}".format, "training FLOPs"),
    }
    for name, (format_value, label) in formats.items():
        if last.get(name) is not None:
            figures.append((format_value(last[name]), label))
    items = [
        element("li", element("strong", value), element("span", label)) for value, label in figures
    ]
    return element("ul", *items, class_="figures")


def no_test():
    return section(
        "Translations",
        paragraph(
            "No test set was given, so this report shows only what the run recorded. With a test "
            "set it also shows BLEU, BLEU by sentence length, example translations, the confidence "
            "of words and attention: ",
            element("code", "t2t-report RUN --source=test.en --reference=test.de"),
        ),
    )


def test_sections(test):
    yield section(
        "Scores",
        paragraph(f"{test.name}, {test.part} ({test.how})."),
        table(
            ["metric", "score", "lines", "signature"],
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
            "BLEU measures how many words, and sequences of up to four words, the output shares "
            "with its reference, from 0 to 100; chrF does the same for characters. A good "
            "translation in different words scores low. Compare only scores of the same lines with "
            "the same signature. ± is the 95 % confidence interval, from bootstrap resampling of "
            "the lines.",
            class_="note",
        ),
        element("h3", "BLEU by source length"),
        by_length(test.by_length),
    )
    yield section(
        "Translations",
        paragraph(
            "Selected by sentence BLEU, which measures how closely a line matches its reference. A "
            "low score can mean a wrong translation, or a right one in different words. ",
            element("mark", "Marked"),
            " words of a reference and an output differ.",
        ),
        *(part for name, lines in test.examples.items() for part in examples(name, lines)),
    )
    if test.calibration:
        yield confidence(test.calibration)
    if test.attention:
        yield attention(*test.attention)


def attention(example, heads):
    rows = max(len(each.queries) for each in heads)
    return section(
        "Attention",
        paragraph(
            f"The attention weights of every head on line {example.line:,}, a sentence of median "
            "length. For cross-attention, lines lead from each word of the translation (left) to "
            "the source words that the model attended to when it wrote that word (right)."
        ),
        element(
            "iframe",
            srcdoc=page(heads, example.source, example.output),
            title="Attention",
            height=420 + 25 * rows,
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
            "Words are separated by spaces. The score of a small group is uncertain: see its "
            "interval. Groups of fewer than ten lines have none.",
            class_="note",
        ),
    )


def examples(name, lines):
    title, explanation = EXAMPLES[name]
    items = []
    for line in lines:
        score = element("div", f"{line.score:.1f}", element("small", f"line {line.line:,}"))
        score.set("class", "score")
        reference, output = marked(line.reference, line.output)
        sides = {
            "source": [line.source] if line.source else [],
            "reference": reference,
            "output": output,
        }
        texts = [
            element("p", element("small", side), element("bdi", *(parts or ["(empty)"])))
            for side, parts in sides.items()
        ]
        items.append(element("li", score, *texts))
    return element("h3", title), paragraph(explanation), element("ul", *items, class_="pairs")


def count_text(count, million="million", billion="billion"):
    """Formats a large count for readers, for example "2.9 million"."""
    for size, name in ((1e9, billion), (1e6, million)):
        if count >= size:
            return f"{count / size:.1f} {name}"
    return f"{count:,.0f}"


def duration(seconds):
    return str(datetime.timedelta(seconds=round(seconds)))


def interval_of(score):
    return "" if score.interval is None else f" ± {score.interval:.1f}"
