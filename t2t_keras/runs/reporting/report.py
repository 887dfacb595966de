"""The report of a run: a page that works offline, for readers who did not train the model."""

import datetime
import json
import shlex
from pathlib import Path

from pipelines.atomic_files import atomic_file
from pipelines.progress import duration
from t2t_keras.evaluation.bleu import check_lines
from t2t_keras.evaluation.held_out_metrics import by_set
from t2t_keras.experiment import Experiment
from t2t_keras.models import model_class
from t2t_keras.parameters import grouped_counts, parameter_counts
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.reporting.data_facts import data_facts
from t2t_keras.runs.reporting.training_sections import data_and_hardware, learning, schedule
from t2t_keras.runs.reporting.translation_sections import interval_of, translated_test_set
from t2t_keras.runs.training.finishing import comparison_text
from t2t_keras.translating.request import listed
from t2t_keras.visualization.document import (
    bar,
    code,
    element,
    folded,
    html_of,
    paragraph,
    section,
    table,
)
from t2t_keras.visualization.page import report_page


def write_report(
    run,
    sources=None,
    references=None,
    path=None,
    *,
    name="test set",
    limit=None,
    examples=5,
    weights=None,
    **search,
):
    """Writes the report and returns its path; see also `Run.report`.

    Args:
        limit: maximum number of test set lines to translate. None: all.
        examples: number of translations in each group: best, middle and worst.
        weights, **search: see `Run`.
    """
    run.experiment()  # raises a clear error if the folder is not a run
    scores, sections = [], []
    if sources is not None:
        sources, references = listed(sources), listed(references)
        check_lines(sources, references)
        cut = limit is not None and limit < len(sources)
        part = f"its first {limit:,} lines" if cut else f"{len(sources):,} lines"
    path = Path(path or run.folder / "report.html")
    if path.is_dir():
        raise ValueError(f"--output must name the page to write. Received: {path}, a folder")
    with atomic_file(path) as file:  # fails before translating if `path` is not writable
        if sources is not None:
            lines = sources[:limit], references[:limit]
            title = f"{name}, {part}"
            scores, sections = translated_test_set(run, *lines, title, examples, weights, **search)
        file.write(report(run, scores, sections).encode())
    return path


def report(run, scores, sections):
    """Returns the report on a run as one HTML page; see `translated_test_set`."""
    experiment, record = run.experiment(), read_config(run.config_file)
    evaluations, intervals = run.evaluations(), run.intervals()
    latest = max(evaluations[-1:] + intervals[-1:], key=lambda line: line["step"], default={})
    counts = grouped_counts(parameter_counts(experiment.model))
    languages = " to ".join(names.names) if (names := run.languages()) else ""
    name = name_of(run.folder.resolve())
    title = f"Report on run {name}"
    imported, compared = record.get("imported"), comparison_text(run.averaged.record() or {})
    if imported:
        text = f"The weights were imported from {imported}."
        text += " How they were trained is not recorded here."
        training = [section("Training", paragraph(text))]
    else:
        facts = {"languages": [languages]} if languages else {}
        facts |= data_facts(experiment.data, record, (evaluations or [{}])[-1])
        training = [
            data_and_hardware(facts),
            learning(name, experiment, evaluations, intervals, compared),
            schedule(experiment, latest.get("step")),
        ]
    body = element(
        "main",
        element("h1", title),
        summary(experiment, languages, imported, latest),
        key_figures(counts, evaluations, latest, scores),
        *(sections or [no_test()]),
        *training,
        settings(experiment, imported),
        weights_section(counts),
        origin(record),
    )
    return report_page(html_of(element("title", title)), html_of(body))


def name_of(folder):
    """Returns the name of the run's folder, or of its parent folder for runs of t2t-reproduce."""
    return folder.parent.name if folder.name == "run" else folder.name


def summary(experiment, languages, imported, latest):
    model, steps = experiment.model, experiment.training.steps
    text = (
        f"A {model_class(model).__name__} with {' + '.join(map(str, model.layers))} layers and "
        f"d_model {model.d_model}{' from ' * bool(languages)}{languages}, "
    )
    if imported:
        return paragraph(f"{text}trained by a different system ({imported}).")
    if not latest:
        return paragraph(f"{text}to be trained for {steps:,} steps.")
    return paragraph(f"{text}trained for {latest['step']:,} of {steps:,} steps.")


def key_figures(counts, evaluations, latest, scores):
    """Returns a list of the most important numbers."""
    last = evaluations[-1] if evaluations else {}
    main = f" ({next(iter(by_set(last)))})" if by_set(last) else ""
    figures = {"weights": count_text(sum(counts.values()))}
    for score in scores[:1]:
        label = f"{score.name} on {score.lines:,} lines"
        figures = {label: f"{score.score:.1f}{interval_of(score)}", **figures}
    for name, label, facts, form in (
        ("perplexity", f"held-out perplexity per token{main}", last, "{:.2f}".format),
        ("tokens", "training tokens, source and target", latest, count_text),
        ("seconds", "training time (h:mm:ss)", latest, lambda each: str(duration(each))),
        ("flops", "training FLOPs, as estimated in the paper's Table 2", last, "{:.1e}".format),
    ):
        if facts.get(name) is not None:
            figures[label] = form(facts[name])
    items = (
        element("li", element("strong", value), element("span", label))
        for label, value in figures.items()
    )
    return element("ul", *items, class_="figures")


def no_test():
    return section(
        "Translations",
        paragraph(
            "No test set was given, so this report shows only what the run recorded. With a test "
            "set it also shows BLEU, BLEU by sentence length, example translations, the confidence "
            "of words and attention: ",
            code("t2t-report RUN --source=test.en --reference=test.de"),
        ),
    )


def settings(experiment, imported):
    ours, base = (
        {
            name: setting_text(value)
            for name, value in each.flat().items()
            if not (imported and name.startswith(("training.", "data.")))
        }
        for each in (experiment, Experiment())
    )
    different = [name for name in ours if ours[name] != base.get(name)]
    rows = [[code(name), code(ours[name]), code(base.get(name, "–"))] for name in different]
    every = [[code(name), code(value)] for name, value in ours.items()]
    return section(
        "Settings",
        paragraph(f"{len(different)} of {len(ours)} settings differ from the paper's base model."),
        table(["setting", "here", "base"], rows) if rows else None,
        folded("All settings", table(["setting", "here"], every)),
    )


def setting_text(value):
    """Formats the value of a setting; empty values become a dash."""
    if value is None or value == "" or value == () or value == []:
        return "–"
    return value if isinstance(value, str) else json.dumps(value)


def weights_section(counts):
    total, largest = sum(counts.values()), max(counts.values())
    rows = [
        [part, f"{count:,}", f"{count / total:.1%}", bar(count / largest)]
        for part, count in counts.items()
    ]
    return section(
        "Weights",
        paragraph(f"The model has {total:,} weights."),
        table(["part", "weights", "share", ""], rows, numbers=(1, 2)),
    )


def origin(record):
    return section(
        "Command and versions",
        paragraph("Command:"),
        element("pre", code(shlex.join(record["command"]))),
        table(["package", "version"], record["versions"].items()),
        paragraph(f"Report written on {datetime.date.today().isoformat()}.", class_="note"),
    )


def count_text(count):
    """Formats a large count for readers, for example "2.9 M"."""
    for size, name in ((1e9, "G"), (1e6, "M")):
        if count >= size:
            return f"{count / size:.1f} {name}"
    return f"{count:,.0f}"
