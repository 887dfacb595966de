"""t2t-report: what a run was, how it learned and what it translates, on one page.

t2t-report runs/ende --source=test.en --reference=test.de
t2t-report runs/ende --source=test.en --reference=test.de --limit=200 --beam=1
t2t-report runs/ende                              settings and learning curves alone

Writes RUN/report.html, one file that works offline, for somebody who did not run it: settings,
learning curves, schedule, weights and cost; and of the test set BLEU, also by length of sentence,
the best and the worst translations by sentence BLEU, and attention on one sentence. --limit takes
the first lines of the test set alone. The flags of t2t-translate say how it is searched.
"""

from pathlib import Path

from absl import flags

from pipelines.whole import read_json
from t2t_keras.cli.main import run
from t2t_keras.cli.search_flags import search_config
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.evaluation.bleu import SAMPLES, bleu, check_lines, chrf, sentence_bleu
from t2t_keras.evaluation.by_length import bleu_by_length
from t2t_keras.experiment import Experiment
from t2t_keras.parameters import grouped_counts, parameter_counts
from t2t_keras.runs.lines import check_line_counts, read_lines
from t2t_keras.runs.looking import look
from t2t_keras.runs.run import Run
from t2t_keras.runs.translating import best_translations
from t2t_keras.visualization.report import (
    Attention,
    Example,
    RunFacts,
    TestFacts,
    chosen,
    report,
)

SOURCE = flags.DEFINE_string("source", None, "A test set's source.")
REFERENCE = flags.DEFINE_string("reference", None, "Its translation.")
LIMIT = flags.DEFINE_integer("limit", None, "Lines of it to translate. None: all.", lower_bound=1)
EXAMPLES = flags.DEFINE_integer("examples", 5, "Translations of each kind.", lower_bound=1)
OUTPUT = flags.DEFINE_string("output", None, "The page to write. None: RUN/report.html.")
LONGEST = 40  # pieces of the sentence whose attention is shown: more do not fit a screen


def main(arguments):
    if len(arguments) != 1:
        raise ValueError(f"takes one run's folder. Received: {' '.join(arguments) or 'none'}")
    if bool(SOURCE.value) != bool(REFERENCE.value):
        raise ValueError("a test set is --source and --reference: give both, or neither")
    trained = Run(arguments[0])
    facts = facts_of(trained)
    texts = test_set() if SOURCE.value else None
    path = Path(OUTPUT.value or trained.folder / "report.html")
    if path.is_dir():
        raise ValueError(f"--output is the page to write. Received: {path}, which is a folder")
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.touch()  # now: a path that cannot be written should not cost hours
    tested = translated(trained, *texts) if texts else None
    unfinished.write_text(report(facts, tested), encoding="utf-8")
    unfinished.rename(path)
    print(path)


def facts_of(trained):
    experiment = trained.experiment()
    noted = read_json(trained.config_file)
    return RunFacts(
        name=name_of(trained.folder.resolve()),
        experiment=experiment,
        base=Experiment(),
        weights=grouped_counts(parameter_counts(experiment.model)),
        evaluations=trained.evaluations_so_far(),
        versions=noted["versions"],
        command=noted["command"],
    )


def translated(trained, sources, references):
    """What the run makes of the test set."""
    tokenizer = trained.tokenizer()
    config = search_config(trained.experiment().search, tokenizer, n_best=1)
    outputs = best_translations(trained, sources, config, WEIGHTS.value)
    lines = [
        Example(number, *line)
        for number, line in enumerate(
            zip(sentence_bleu(outputs, references), sources, references, outputs, strict=True), 1
        )
    ]
    usual = "averaged" if trained.averaged_weights.exists() else "newest"
    how = "drawn at random" if config.method == "sample" else f"searched with beam {config.beam}"
    return TestFacts(
        name=Path(SOURCE.value).name,
        part=f"its first {len(sources):,} lines" if LIMIT.value else f"{len(sources):,} lines",
        how=f"the {WEIGHTS.value or usual} weights, {how}",
        scores=[score(outputs, references, SAMPLES) for score in (bleu, chrf)],
        by_length=bleu_by_length(sources, outputs, references, SAMPLES),
        examples=chosen(lines, EXAMPLES.value),
        attention=attention(trained, tokenizer, lines),
    )


def name_of(folder):
    """What to call a run: t2t-reproduce's are all in a folder `run`, in one of the row's name."""
    return folder.parent.name if folder.name == "run" else folder.name


def test_set():
    """The lines of source and reference."""
    sources, references = (read_lines(flag.value) for flag in (SOURCE, REFERENCE))
    check_line_counts(source=sources, reference=references)
    check_lines(sources, references)
    return sources[: LIMIT.value], references[: LIMIT.value]


def attention(trained, tokenizer, lines):
    """The heads on a sentence of middling length; None if all are empty or too long."""
    pairs = [
        (line, *(tokenizer.encode([text])[0].tolist() for text in (line.source, line.output)))
        for line in sorted(lines, key=lambda line: len(line.source))
    ]
    model = trained.model(WEIGHTS.value)
    longest = min(LONGEST, model.longest or LONGEST)
    fitting = [pair for pair in pairs if pair[1] and max(map(len, pair[1:])) < longest]
    if not fitting:
        return None
    line, source, output = fitting[len(fitting) // 2]
    return Attention(line, look(model, tokenizer, source, output))


def entry():
    run(main)


if __name__ == "__main__":
    entry()
