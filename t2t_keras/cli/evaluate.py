"""t2t-evaluate: scores a run or its export on a test set, or a file of translations or of parses.

t2t-evaluate runs/ende --source=test.en --reference=test.de
t2t-evaluate runs/ende/export --source=test.en --reference=test.de      the newest SavedModel in it
t2t-evaluate runs/ende/export_ctranslate2 --source=test.en --reference=test.de
t2t-evaluate --hypotheses=test.out --reference=test.de
t2t-evaluate --hypotheses=test.out --against=other.out --reference=test.de
t2t-evaluate runs/parsing --treebank=gold.mrg --output=parses.trees
t2t-evaluate --parses=parses.trees --treebank=gold.mrg

Prints sacreBLEU's BLEU and chrF with their signatures and 95 % intervals; --metrics=bleu,chrf,ter
adds TER, and plug-in files add others. --reference=a.de,b.de gives several references. --against
adds a paired bootstrap test. --json prints one object. --paper_bleu=LANGUAGE adds the BLEU of the
paper's Table 2, on tokenized text with compounds split; it is not comparable with sacreBLEU. With
--treebank, prints labeled precision, recall and F1 as EVALB counts them.
"""

import contextlib
import functools

from absl import flags

from pipelines.atomic_files import atomic_file
from pipelines.text.file_lists import split_list
from pipelines.text.opened_text import compressing
from t2t_keras.checks import check_choice
from t2t_keras.cli.flags.engine_flags import DTYPE, ENGINE, IMPORTS, TRUST, opened_model
from t2t_keras.cli.flags.list_flag import define_list
from t2t_keras.cli.flags.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.flags.shared_flags import (
    load_imports,
    not_with,
    refuse_unused,
    to_flag,
    weights_flag,
)
from t2t_keras.cli.main import run
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.cli.text_files.output_files import check_outputs, files_of
from t2t_keras.cli.text_files.score_lines import (
    show_brackets,
    show_brackets_as_json,
    show_scores,
    show_scores_as_json,
)
from t2t_keras.evaluation.metric_settings import METRICS, TOKENIZERS

TO = to_flag()
WEIGHTS = weights_flag()

SOURCE = flags.DEFINE_string("source", None, "Text file with the sentences that a run translates.")
REFERENCE = flags.DEFINE_multi_string(
    "reference",
    None,
    "Files with reference translations, one per line. Several files, with commas or by repeating "
    "the flag, are several references of each line.",
)
HYPOTHESES = flags.DEFINE_string(
    "hypotheses", None, "File with translations to score, one per line."
)
AGAINST = flags.DEFINE_string(
    "against", None, "File with a second system's translations, compared by paired bootstrap."
)
METRIC_NAMES = define_list(
    "metrics",
    ["bleu", "chrf"],
    f"Metrics of sacreBLEU, separated by commas: {', '.join(METRICS)}; and those of plug-in files.",
)
LOWERCASE = flags.DEFINE_bool(
    "lowercase", False, "Ignore case in BLEU and chrF; sacreBLEU's TER always does."
)
TOKENIZE = flags.DEFINE_enum(
    "tokenize",
    "13a",
    TOKENIZERS,
    "sacreBLEU's tokenizer for BLEU. With zh and ja-mecab, TER compares characters. ja-mecab and "
    "ko-mecab need pip install 't2t-keras[ja]' or 't2t-keras[ko]'.",
)
JSON = flags.DEFINE_bool("json", False, "Print the scores as a JSON object.")
PAPER_BLEU = flags.DEFINE_string(
    "paper_bleu", None, "Language of the references, such as de, to add the paper's BLEU."
)
OUTPUT = flags.DEFINE_string("output", None, "File for a run's translations or parses.")
TREEBANK = flags.DEFINE_string(
    "treebank", None, "Files with gold trees: a path, a glob, or several with commas."
)
PARSES = flags.DEFINE_string(
    "parses",
    None,
    "File with parses to score, one tree per line; an empty line is a missing parse.",
)

METRIC_FLAGS = (METRIC_NAMES, LOWERCASE, TOKENIZE)
TEXT_FLAGS = (IMPORTS, SOURCE, REFERENCE, HYPOTHESES, AGAINST, PAPER_BLEU, *METRIC_FLAGS)
RUN_FLAGS = (OUTPUT, TO, WEIGHTS, ENGINE, DTYPE, TRUST, *SEARCH_FLAGS)

not_with(HYPOTHESES, SOURCE, *RUN_FLAGS, why=", which are already translated")
not_with(PAPER_BLEU, LOWERCASE, why=", which distinguishes case")
not_with(PARSES, *RUN_FLAGS, why=", which are already parsed")


def main(arguments):
    load_imports(IMPORTS.value)
    trees = bool(TREEBANK.value or PARSES.value)
    (check_tree_flags if trees else check_text_flags)(arguments)
    (evaluate_trees if trees else evaluate_text)(arguments)


def check_text_flags(arguments):
    if bool(arguments) == bool(HYPOTHESES.value):
        raise ValueError(
            "takes a run (several: an ensemble) with --source, or --hypotheses. Received: "
            f"{' '.join(arguments) or 'no run'}, --hypotheses={HYPOTHESES.value}"
        )
    if not reference_files() or (arguments and not SOURCE.value):
        raise ValueError("--reference is required, and for a run also --source")
    check_metrics()
    check_outputs(
        {"--output": OUTPUT.value},
        {
            **{f"--{flag.name}": flag.value for flag in (SOURCE, AGAINST)},
            "--reference": reference_files(),
            "a file of the run": files_of(arguments),
        },
    )


def check_metrics():
    """Rejects unknown metrics, and settings that no chosen metric has."""
    for name in METRIC_NAMES.value:
        check_choice("metrics", name, METRICS)
    if not METRIC_NAMES.value:
        raise ValueError(f"--metrics: give at least one of {', '.join(METRICS)}")
    if PAPER_BLEU.value is not None:
        from t2t_keras.evaluation.paper_bleu import check_language

        check_language(PAPER_BLEU.value)
    obeyed = {setting for name in METRIC_NAMES.value for setting in METRICS[name].obeys}
    if "tokenize" not in obeyed:
        refuse_unused([TOKENIZE], "without the metric bleu")
    if "lowercase" not in obeyed:
        reason = "on TER alone, which always ignores case"
        if {*METRIC_NAMES.value} != {"ter"}:
            reason = "without the metrics bleu, chrf or chrf++"
        refuse_unused([LOWERCASE], reason)


def reference_files():
    """Returns the files of all --reference flags. The name of an existing file may have commas."""
    return [path for value in REFERENCE.value or () for path in split_list(value) if path]


def evaluate_text(arguments):
    from t2t_keras.evaluation.bleu import metrics_of
    from t2t_keras.evaluation.metric_settings import MetricSettings
    from t2t_keras.runs.evaluation import evaluate
    from t2t_keras.runs.text_files import check_line_counts, read_lines

    settings = MetricSettings(tuple(METRIC_NAMES.value), LOWERCASE.value, TOKENIZE.value)
    metrics_of(settings)  # fails early if a tokenizer's package is missing
    references = [read_lines(path) for path in reference_files()]
    for path, lines in zip(reference_files()[1:], references[1:], strict=True):
        if len(lines) != len(references[0]):
            raise ValueError(
                "All references must have the same number of lines. Received: "
                f"{len(references[0]):,} in {reference_files()[0]} and {len(lines):,} in {path}"
            )
    against = read_lines(AGAINST.value) if AGAINST.value else None
    if against is not None:
        check_line_counts(against=against, reference=references[0])
    given = HYPOTHESES.value
    hypotheses = read_lines(given) if given else translated(arguments, references[0])
    result = evaluate(hypotheses, references, PAPER_BLEU.value, against, settings)
    if JSON.value:
        show_scores_as_json(result, given_files(arguments))
    else:
        show_scores(result, AGAINST.value)


def given_files(arguments):
    """Returns {flag: file or files} of the command, for --json."""
    names = {flag.name: flag.value for flag in (SOURCE, HYPOTHESES, AGAINST, OUTPUT)}
    names |= {flag.name: flag.value for flag in (TREEBANK, PARSES)}
    names |= {"runs": arguments, "reference": reference_files()}
    return {name: value for name, value in names.items() if value}


def translated(folders, references):
    """Translates --source, writes --output if it is given, and returns the translations."""
    from t2t_keras.runs.evaluation import translate_all
    from t2t_keras.runs.text_files import check_line_counts, read_lines
    from t2t_keras.translating.translator import Translator

    sources = read_lines(SOURCE.value)
    check_line_counts(source=sources, reference=references)
    found = opened_model(folders, method=search_changes().get("method"))
    translator = Translator(found.engine, found.to)
    translator.check(search_changes())
    with opened_output() as write:
        hypotheses = translate_all(translator, sources, **search_changes())
        write(hypotheses)
    return hypotheses


@contextlib.contextmanager
def opened_output():
    """Opens --output, if given, before the work, and yields a function that writes lines to it."""
    if OUTPUT.value is None:
        yield lambda lines: None
        return
    with atomic_file(OUTPUT.value) as whole, compressing(whole, OUTPUT.value) as file:
        yield lambda lines: file.writelines(f"{line}\n".encode() for line in lines)


def check_tree_flags(arguments):
    if given := [f"--{flag.name}" for flag in TEXT_FLAGS if flag.present]:
        raise ValueError(f"trees are not scored as text: leave out {', '.join(given)}")
    if not TREEBANK.value or len(arguments) + bool(PARSES.value) != 1:
        raise ValueError(
            "takes --treebank with the gold trees, and a run's folder or --parses. Received: "
            f"{' '.join(arguments) or 'no run'}, --parses={PARSES.value}, "
            f"--treebank={TREEBANK.value}"
        )


def evaluate_trees(arguments):
    from pipelines.text.file_lists import find_files
    from pipelines.text.treebank import read_trees
    from t2t_keras.runs.parsing import evaluate_lines
    from t2t_keras.runs.text_files import read_lines
    from t2t_keras.translating.exports import is_export

    treebank = find_files("treebank", TREEBANK.value)
    show = show_brackets
    if JSON.value:
        show = functools.partial(show_brackets_as_json, files=given_files(arguments))
    if PARSES.value:
        show(evaluate_lines(list(read_trees(TREEBANK.value)), read_lines(PARSES.value)))
        return
    inputs = {"--treebank": treebank, "a file of the run": files_of(arguments)}
    check_outputs({"--output": OUTPUT.value}, inputs)
    if is_export(arguments[0]):
        raise ValueError(f"--treebank takes a run, no export. Received: {arguments[0]}")
    load_backend()
    from t2t_keras.runs import Run

    run = Run(arguments[0], TO.value, TRUST.value)
    run.experiment()  # raises a clear error if the folder is not a run
    with opened_output() as write:
        options = {"engine": ENGINE.value, "dtype": DTYPE.value, **search_changes()}
        result = run.evaluate_parses(TREEBANK.value, WEIGHTS.value, **options)
        write(result.parses)
    show(result)


def entry():
    run(main)


if __name__ == "__main__":
    entry()
