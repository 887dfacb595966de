"""t2t-evaluate: scores a run or its export on a test set, or a file of translations or of parses.

t2t-evaluate runs/ende --source=test.en --reference=test.de
t2t-evaluate runs/ende/export --source=test.en --reference=test.de      the newest SavedModel in it
t2t-evaluate runs/ende/export_ctranslate2 --source=test.en --reference=test.de
t2t-evaluate --hypotheses=test.out --reference=test.de
t2t-evaluate --hypotheses=test.out --against=other.out --reference=test.de
t2t-evaluate runs/parsing --treebank=gold.mrg --output=parses.trees
t2t-evaluate --parses=parses.trees --treebank=gold.mrg

Prints sacreBLEU and chrF with their signatures and 95 % intervals. --against adds a paired
bootstrap test. --paper_bleu=LANGUAGE adds the BLEU of the paper's Table 2, on tokenized text with
compounds split; it is not comparable with sacreBLEU. With --treebank, prints labeled precision,
recall and F1 as EVALB counts them.
"""

import contextlib

from absl import flags

from pipelines.atomic_files import atomic_file
from pipelines.text.opened_text import compressing
from pipelines.text.treebank import LEAVES as LEAF_KINDS
from t2t_keras.cli.flags.engine_flags import DTYPE, ENGINE, opened_model
from t2t_keras.cli.flags.search_flags import SEARCH_FLAGS, search_changes
from t2t_keras.cli.flags.shared_flags import refuse_unused, to_flag, weights_flag
from t2t_keras.cli.main import run
from t2t_keras.cli.process.backend import load_backend
from t2t_keras.cli.text_files.output_files import check_outputs, files_of

TO = to_flag()
WEIGHTS = weights_flag()

SOURCE = flags.DEFINE_string("source", None, "Text file with the sentences that a run translates.")
REFERENCE = flags.DEFINE_string("reference", None, "Reference translations, one per line.")
HYPOTHESES = flags.DEFINE_string("hypotheses", None, "Translations to score, one per line.")
AGAINST = flags.DEFINE_string(
    "against", None, "A second system's translations, compared by paired bootstrap."
)
PAPER_BLEU = flags.DEFINE_string(
    "paper_bleu", None, "Language of the references, such as de, to add the paper's BLEU."
)
OUTPUT = flags.DEFINE_string("output", None, "File for a run's translations or parses.")
TREEBANK = flags.DEFINE_string(
    "treebank", None, "Gold trees: a path, a glob, or several with commas."
)
PARSES = flags.DEFINE_string(
    "parses", None, "Parses to score, one tree per line; an empty line is a missing parse."
)
LEAVES = flags.DEFINE_enum(
    "leaves",
    None,
    LEAF_KINDS,
    "Leaf symbol that the run was trained with. Default: the one that it recorded.",
)


TEXT_FLAGS = (SOURCE, REFERENCE, HYPOTHESES, AGAINST, PAPER_BLEU)
RUN_FLAGS = (OUTPUT, TO, WEIGHTS, ENGINE, DTYPE, *SEARCH_FLAGS)


def main(arguments):
    trees = bool(TREEBANK.value or PARSES.value)
    (check_tree_flags if trees else check_text_flags)(arguments)
    (evaluate_trees if trees else evaluate_text)(arguments)


def check_text_flags(arguments):
    if bool(arguments) == bool(HYPOTHESES.value):
        raise ValueError(
            "takes a run (several: an ensemble) with --source, or --hypotheses. Received: "
            f"{' '.join(arguments) or 'no run'}, --hypotheses={HYPOTHESES.value}"
        )
    if not REFERENCE.value or (arguments and not SOURCE.value):
        raise ValueError("--reference is required, and for a run also --source")
    refuse_unused([LEAVES], "without --treebank")
    if HYPOTHESES.value:
        refuse_unused([SOURCE, *RUN_FLAGS], "with --hypotheses, which are already translated")
    check_outputs(
        {"--output": OUTPUT.value},
        {
            **{f"--{flag.name}": flag.value for flag in (SOURCE, REFERENCE, AGAINST)},
            "a file of the run": files_of(arguments),
        },
    )


def evaluate_text(arguments):
    from t2t_keras.runs.evaluation import evaluate
    from t2t_keras.runs.text_files import check_line_counts, read_lines

    references = read_lines(REFERENCE.value)
    against = read_lines(AGAINST.value) if AGAINST.value else None
    if against is not None:
        check_line_counts(against=against, reference=references)
    hypotheses = translated(arguments, references) if arguments else read_lines(HYPOTHESES.value)
    result = evaluate(hypotheses, references, PAPER_BLEU.value, against)
    show_scores(result.scores)
    if against is not None:
        print(f"against {AGAINST.value}:")
        show_scores(result.against)


def translated(folders, references):
    """Translates --source, writes --output if it is given, and returns the translations."""
    from t2t_keras.runs.evaluation import translate_all
    from t2t_keras.runs.text_files import check_line_counts, read_lines
    from t2t_keras.translating.translator import Translator

    sources = read_lines(SOURCE.value)
    check_line_counts(source=sources, reference=references)

    def can(engine, to=TO.value):
        Translator(engine, to).check(search_changes())

    found = opened_model(folders, can=can)
    can(*found[:2])
    translator = Translator(found.engine, found.to)
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


def show_scores(scores):
    for score in scores:
        interval = "" if score.interval is None else f" ± {score.interval:.2f}"
        p_value = "" if score.p_value is None else f", p = {score.p_value:.4f}"
        print(f"{score.name:<12} {score.score:6.2f}{interval}{p_value}  {score.lines:,} lines")
        print(f"             {score.signature}")


def check_tree_flags(arguments):
    if given := [f"--{flag.name}" for flag in TEXT_FLAGS if flag.value]:
        raise ValueError(f"trees are not scored as text: leave out {', '.join(given)}")
    if not TREEBANK.value or len(arguments) + bool(PARSES.value) != 1:
        raise ValueError(
            "takes --treebank with the gold trees, and a run's folder or --parses. Received: "
            f"{' '.join(arguments) or 'no run'}, --parses={PARSES.value}, "
            f"--treebank={TREEBANK.value}"
        )
    if PARSES.value:
        refuse_unused([LEAVES, *RUN_FLAGS], "with --parses, which are already parsed")


def evaluate_trees(arguments):
    from pipelines.text.file_lists import find_files
    from pipelines.text.treebank import read_trees
    from t2t_keras.runs.parsing import evaluate_lines
    from t2t_keras.runs.text_files import read_lines
    from t2t_keras.translating.find import is_export

    treebank = find_files("treebank", TREEBANK.value)
    if PARSES.value:
        show_brackets(evaluate_lines(list(read_trees(TREEBANK.value)), read_lines(PARSES.value)))
        return
    inputs = {"--treebank": treebank, "a file of the run": files_of(arguments)}
    check_outputs({"--output": OUTPUT.value}, inputs)
    if is_export(arguments[0]):
        raise ValueError(f"--treebank takes a run, no export. Received: {arguments[0]}")
    load_backend()
    from t2t_keras.runs import Run

    run = Run(arguments[0], TO.value)
    run.experiment()  # raises a clear error if the folder is not a run
    with opened_output() as write:
        options = {"engine": ENGINE.value, "dtype": DTYPE.value, **search_changes()}
        result = run.evaluate_parses(TREEBANK.value, WEIGHTS.value, LEAVES.value, **options)
        write(result.parses)
    show_brackets(result)


def show_brackets(result):
    """Prints a table with columns for all sentences and for the short ones."""
    from t2t_keras.evaluation.bracketing import SHORT

    scores = result.scores
    rows = [
        ("precision", ".2f", [score.precision for score in scores]),
        ("recall", ".2f", [score.recall for score in scores]),
        ("F1", ".2f", [score.f1 for score in scores]),
        ("complete match", ".2f", [score.complete_match for score in scores]),
        ("average crossing", ".2f", [score.average_crossing for score in scores]),
    ]
    if scores[0].tagged:  # if every leaf is XX, tagging accuracy has no meaning
        rows.append(("tagging accuracy", ".2f", [score.tagging_accuracy for score in scores]))
    rows.append(("sentences", ",", [score.sentences for score in scores]))
    if scores[0].skipped:
        rows.append(("only punctuation", ",", [score.skipped for score in scores]))
    rows.append(("failed", ",", [score.failed for score in scores]))
    if result.repaired is not None:
        rows.append(("repaired", ",", result.repaired))
    print(f"{'':<16}", *(f"{title:>12}" for title in ("all", f"≤ {SHORT} words")))
    for name, form, values in rows:
        print(f"{name:<16}", *(f"{value:>12{form}}" for value in values))
    print("labeled brackets as EVALB counts them with COLLINS.prm; a failed parse has none")


def entry():
    run(main)


if __name__ == "__main__":
    entry()
