"""The report of a run: one page with the settings, learning curves and translations."""

from pathlib import Path

from pipelines.atomic_files import atomic_file
from pipelines.progress import Progress
from t2t_keras.evaluation.bleu import SAMPLES, bleu, check_lines, chrf, sentence_bleu
from t2t_keras.evaluation.by_length import bleu_by_length
from t2t_keras.evaluation.calibration import calibration, right_words
from t2t_keras.experiment import Experiment
from t2t_keras.parameters import grouped_counts, parameter_counts
from t2t_keras.runs.attention import attention_heads
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.training.finishing import comparison_text
from t2t_keras.training.hardware.hardware_description import hardware_text
from t2t_keras.translating.request import listed
from t2t_keras.translating.sentences import on_one_line
from t2t_keras.translating.words import word_pieces
from t2t_keras.visualization.document import visible
from t2t_keras.visualization.report import (
    Attention,
    ExampleTranslation,
    RunFacts,
    TestFacts,
    chosen,
    report,
)

LONGEST = 40  # maximum number of pieces in the attention example; more do not fit on a screen


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
    """Writes the report and returns its path.

    Args:
        run: a `Run`.
        sources, references: a test set. If None, the report has only settings and learning curves.
        path: the page to write. None: RUN/report.html.
        name: name of the test set.
        limit: maximum number of test set lines to translate. None: all.
        examples: number of translations in each group: best, middle and worst.
        weights: see `Run`.
        **search: changes to the run's search settings.
    """
    facts, results = run_facts(run), None
    if sources is not None:
        sources, references = listed(sources), listed(references)
        check_lines(sources, references)
        cut = limit is not None and limit < len(sources)
        part = f"its first {limit:,} lines" if cut else f"{len(sources):,} lines"
        tests = sources[:limit], references[:limit], {"name": name, "part": part}
    path = Path(path or run.folder / "report.html")
    if path.is_dir():
        raise ValueError(f"--output must name the page to write. Received: {path}, a folder")
    with atomic_file(path) as file:  # fails before translating if `path` is not writable
        if sources is not None:
            results = test_facts(run, *tests, examples, weights, **search)
        file.write(report(facts, results).encode())
    return path


def run_facts(run):
    experiment = run.experiment()
    settings = read_config(run.config_file)
    return RunFacts(
        name=name_of(run.folder.resolve()),
        experiment=experiment,
        base=Experiment(),
        weights=grouped_counts(parameter_counts(experiment.model)),
        evaluations=run.evaluations(),
        intervals=run.intervals(),
        versions=settings["versions"],
        command=settings["command"],
        imported=settings.get("imported"),
        comparison=comparison_text(run.averaged.record() or {}),
        languages=languages.names if (languages := run.languages()) else (),
        corpora=settings["corpora"],
        held_out=settings.get("held_out", {}),
        hardware=[
            (each["from_step"], hardware_text(each)) for each in settings.get("hardware", [])
        ],
    )


def name_of(folder):
    """Returns the name of the run's folder, or of its parent folder for runs of t2t-reproduce."""
    return visible(folder.parent.name if folder.name == "run" else folder.name)


def test_facts(run, sources, references, named, examples, weights, **search):
    """Translates a test set and scores it; `named` has its name and the part that is used."""
    config = run.search(**search)
    with Progress("translating", len(sources), unit="lines") as progress:
        progress.to(0)
        options = {"split": "off", "confidence": True, **search}
        translator = run.translator(weights)
        translations = translator.best_of_each(sources, progress.to, **options)
    outputs = [on_one_line(each.text) for each in translations]
    scores = sentence_bleu(outputs, references)
    lines = [
        ExampleTranslation(line, *columns)
        for line, columns in enumerate(zip(scores, sources, references, outputs, strict=True), 1)
    ]
    weights = weights or run.default_weights()
    shown = f"step {int(weights):,}" if weights.isdecimal() else weights
    how = "sampled" if config.method == "sample" else f"beam {config.beam}"
    return TestFacts(
        **named,
        how=f"weights: {shown}; {how}",
        scores=[metric(outputs, references, SAMPLES) for metric in (bleu, chrf)],
        by_length=bleu_by_length(sources, outputs, references, SAMPLES),
        examples=chosen(lines, examples),
        calibration=calibration_of(run.tokenizer().target, translations, references),
        attention=example_attention(run, lines, weights),
    )


def example_attention(run, lines, weights):
    """Returns the attention weights for a sentence of median length, or None if all are too long.

    The median is computed over the sentences that are short enough.
    """
    tokenizer, model = run.tokenizer(), run.loaded(weights)
    triples = [
        (
            line,
            tokenizer.source.encode([line.source])[0].tolist(),
            tokenizer.target.encode([line.output])[0].tolist(),
        )
        for line in sorted(lines, key=lambda line: len(line.source))
    ]
    longest = min(LONGEST, model.longest or LONGEST)
    fitting = [triple for triple in triples if triple[1] and max(map(len, triple[1:])) < longest]
    if not fitting:
        return None
    line, source, output = fitting[len(fitting) // 2]
    return Attention(line, attention_heads(model, tokenizer, source, output))


def calibration_of(tokenizer, translations, references):
    """Returns the `Calibration` of the translations' words, or None if there are no words.

    Args:
        tokenizer: the tokenizer of the target language.
        translations: the `Translation` of each text, with confidence.
        references: the reference translation of each text, or an empty list.
    """
    expected = tokenizer.encode(references) if references else []
    right = []
    for translation, ids in zip(translations, expected, strict=True):
        right += right_words(translation.words.target, word_pieces(tokenizer, ids).words)
    confidence = [word for each in translations for word in each.confidence]
    return calibration(confidence, right)
