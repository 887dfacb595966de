"""t2t-evaluate: scores a run or its export on a test set, or a file of translations or of parses.

t2t-evaluate runs/ende --source=test.en --reference=test.de
t2t-evaluate runs/ende/export --source=test.en --reference=test.de  the newest in it
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

import os

from absl import flags

from pipelines.text.opened_text import find_files, split_list
from t2t_keras.checks import check_choice
from t2t_keras.cli.flags.engine_flags import DTYPE, ENGINE, IMPORTS, OF_MODEL, WEIGHTS, opened_model
from t2t_keras.cli.flags.field_flags import define_flags
from t2t_keras.cli.flags.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.flags.shared_flags import (
    define_list,
    load_imports,
    named_files,
    not_with,
    only_with,
    opened_run,
    refuse_unused,
)
from t2t_keras.cli.text_files.output_files import check_outputs, output_to
from t2t_keras.cli.text_files.score_lines import show_brackets, show_scores, show_scores_as_json
from t2t_keras.evaluation.metric_settings import METRICS, TOKENIZERS, MetricSettings
from t2t_keras.runs.text_files import read_lines, read_parallel
from t2t_keras.translating.exports import is_export
from t2t_keras.translating.request import FIELDS, MBR, SEARCH, Request

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
    f"Metrics, separated by commas: {', '.join(METRICS)}; and metrics of plug-in files.",
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
COLUMN = define_list(
    "column",
    [],
    "Texts that a metric needs, NAME=FILE, line by line. The column source is --source by default.",
)
MBR_FLAGS = define_flags(Request, leave_out={*SEARCH, *FIELDS} - {*MBR})
BY_RISK, METRIC_OF_RISK, COMET_MODEL = (MBR_FLAGS[name] for name in MBR)
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

TEXT_FLAGS = (IMPORTS, SOURCE, REFERENCE, HYPOTHESES, AGAINST, PAPER_BLEU)
RUN_FLAGS = (OUTPUT, *OF_MODEL, *SEARCH_FLAGS, BY_RISK, METRIC_OF_RISK)

only_with([BY_RISK], METRIC_OF_RISK)
not_with(HYPOTHESES, SOURCE, *RUN_FLAGS, why=", which are already translated")
not_with(PAPER_BLEU, LOWERCASE, why=", which distinguishes case")
not_with(PARSES, *RUN_FLAGS, why=", which are already parsed")
not_with(TREEBANK, *TEXT_FLAGS, METRIC_NAMES, LOWERCASE, TOKENIZE, COLUMN, *MBR_FLAGS.values())


def main(arguments):
    load_imports(IMPORTS.value)
    (evaluate_trees if TREEBANK.value or PARSES.value else evaluate_text)(arguments)


def evaluate_text(arguments):
    names = tuple(METRIC_NAMES.value)
    settings = MetricSettings(names, LOWERCASE.value, TOKENIZE.value, COMET_MODEL.value)
    columns = named_files(COLUMN)
    check_text_flags(arguments, settings, columns)
    from t2t_keras.evaluation.bleu import metrics_of
    from t2t_keras.runs.evaluation import evaluate

    files = {f"reference={path}": path for path in reference_files()}
    files |= {flag.name: flag.value for flag in (AGAINST, SOURCE) if flag.value}
    files |= {f"column={name}": path for name, path in columns.items()}
    lines = dict(zip(files, read_parallel(**files), strict=True))
    columns = {name: lines[f"column={name}"] for name in columns}
    if SOURCE.value:
        columns = {"source": lines["source"], **columns}
    settings = settings._replace(columns=columns)
    metrics_of(settings)  # fails early if a package or a column is missing
    references = [lines[name] for name in files if name.startswith("reference=")]
    if HYPOTHESES.value:
        hypotheses = read_lines(HYPOTHESES.value)
    else:
        hypotheses = translated(arguments, lines["source"])
    result = evaluate(hypotheses, references, PAPER_BLEU.value, lines.get("against"), settings)
    if JSON.value:
        show_scores_as_json(result, given_files(arguments))
    else:
        show_scores(result, AGAINST.value)


def check_text_flags(arguments, settings, columns):
    if bool(arguments) == bool(HYPOTHESES.value):
        raise ValueError(
            "takes a run (several: an ensemble) with --source, or --hypotheses. Received: "
            f"{' '.join(arguments) or 'no run'}, --hypotheses={HYPOTHESES.value}"
        )
    if not reference_files() or (arguments and not SOURCE.value):
        raise ValueError("--reference is required, and for a run also --source")
    for name in settings.metrics:
        check_choice("metrics", name, METRICS)
    if not settings.metrics:
        raise ValueError(f"--metrics: give at least one of {', '.join(METRICS)}")
    if PAPER_BLEU.value is not None:
        from t2t_keras.evaluation.paper_bleu import check_language

        check_language(PAPER_BLEU.value)
    obeyed = {setting for name in settings.metrics for setting in METRICS[name].obeys}
    obeyed |= {"comet_model"} if METRIC_OF_RISK.value == "comet" else set()
    unused = [flag for flag in (LOWERCASE, TOKENIZE, COMET_MODEL) if flag.name not in obeyed]
    needed = [column for name in settings.metrics for column in METRICS[name].columns]
    unused += [COLUMN] if not needed else []
    refuse_unused(unused, f"with --metrics={','.join(settings.metrics)}")
    for name in columns:
        check_choice("--column", name, needed)
    inputs = {flag.name: flag.value for flag in (SOURCE, AGAINST)}
    inputs |= {"reference": reference_files(), "column": [*columns.values()]}
    check_outputs(OUTPUT.value, inputs)


def reference_files():
    """Returns the files of all --reference flags. The name of an existing file may have commas."""
    return [path for value in REFERENCE.value or () for path in split_list(value) if path]


def given_files(arguments):
    """Returns {flag: file or files} of the command, for --json."""
    names = {flag.name: flag.value for flag in (SOURCE, HYPOTHESES, AGAINST, OUTPUT)}
    names |= {flag.name: flag.value for flag in (TREEBANK, PARSES)}
    names |= {"runs": arguments, "reference": reference_files()}
    return {name: value for name, value in names.items() if value}


def translated(folders, sources):
    """Translates --source, writes --output if it is given, and returns the translations."""
    from t2t_keras.runs.evaluation import translate_all

    search = search_changes()
    translator, _ = opened_model(folders, method=search.get("method"))
    search |= {name: flag.value for name, flag in MBR_FLAGS.items() if flag.value is not None}
    translator.check(search)
    with output_to(OUTPUT.value or os.devnull) as file:
        hypotheses = translate_all(translator, sources, **search)
        file.writelines(f"{line}\n".encode() for line in hypotheses)
    return hypotheses


def evaluate_trees(arguments):
    from pipelines.text.treebank import read_trees
    from t2t_keras.runs.parsing import evaluate_lines

    if not TREEBANK.value or len(arguments) + bool(PARSES.value) != 1:
        raise ValueError(
            "takes --treebank with the gold trees, and a run's folder or --parses. Received: "
            f"{' '.join(arguments) or 'no run'}, --parses={PARSES.value}, "
            f"--treebank={TREEBANK.value}"
        )
    files = given_files(arguments) if JSON.value else None
    treebank = find_files("treebank", TREEBANK.value)
    if PARSES.value:
        parses = read_lines(PARSES.value)
        show_brackets(evaluate_lines(list(read_trees(TREEBANK.value)), parses), files)
        return
    check_outputs(OUTPUT.value, {"treebank": treebank})
    if is_export(arguments[0]):
        raise ValueError(f"--treebank takes a run, no export. Received: {arguments[0]}")
    run = opened_run(arguments[0])
    with output_to(OUTPUT.value or os.devnull) as file:
        options = {"engine": ENGINE.value, "dtype": DTYPE.value, **search_changes()}
        result = run.evaluate_parses(TREEBANK.value, WEIGHTS.value, **options)
        file.writelines(f"{line}\n".encode() for line in result.parses)
    show_brackets(result, files)
