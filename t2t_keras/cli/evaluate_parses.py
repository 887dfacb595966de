"""What t2t-evaluate does with --treebank: labelled brackets of parses, a run's or a file's."""

from pathlib import Path

from absl import flags

from pipelines.sources import find_files
from pipelines.treebank import LEAVES as LEAF_KINDS
from pipelines.treebank import read_trees
from t2t_keras.cli.search_flags import search_config
from t2t_keras.cli.weights_flag import WEIGHTS
from t2t_keras.evaluation.bracketing import SHORT, bracketing, length
from t2t_keras.runs.lines import read_lines
from t2t_keras.runs.parsing import leaves_of, line_of, tree_on, words_of
from t2t_keras.runs.run import Run
from t2t_keras.runs.translating import best_translations

TREEBANK = flags.DEFINE_string("treebank", None, "The gold trees: files of them, or a glob.")
PARSES = flags.DEFINE_string("parses", None, "Parses, a tree a line; an empty line: none found.")
LEAVES = flags.DEFINE_enum(
    "leaves", None, LEAF_KINDS, "What the run was prepared with. None: what its text says, or XX."
)


def evaluate_parses(arguments, output):
    """Prints the scores of a run, whose parses are kept in `output`, or of `--parses`."""
    if not TREEBANK.value or len(arguments) + bool(PARSES.value) != 1:
        raise ValueError(
            "takes a run's folder or --parses, and --treebank with the gold trees. Received: "
            f"{' '.join(arguments) or 'no run'}, --parses={PARSES.value}, "
            f"--treebank={TREEBANK.value}"
        )
    if PARSES.value and output:
        raise ValueError(f"--output keeps a run's parses; those of {PARSES.value} are kept already")
    golds = list(read_trees(TREEBANK.value))
    repaired = None
    if arguments:
        lines, changed = kept_parses(Run(arguments[0]), golds, output)
        short = [one for one, gold in zip(changed, golds, strict=True) if length(gold) <= SHORT]
        repaired = [sum(changed), sum(short)]
    else:
        lines = read_lines(PARSES.value)
    # A run's lines are read like a file's, so that what it keeps has the same scores.
    show(bracketing(golds, [tree_on(line) for line in lines]), repaired)


def kept_parses(target, golds, output):
    """A run's parses, a line each, and whether each was repaired; written to `output` if given."""
    if not output:
        return parses(target, golds)
    if Path(output).resolve() in [
        Path(file).resolve() for file in find_files("treebank", TREEBANK.value)
    ]:
        raise ValueError(f"--output and --treebank are the same file, {output}: it would be lost")
    Path(output).touch()  # now: a path that cannot be written should not cost hours
    lines, repaired = parses(target, golds)
    Path(output).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return lines, repaired


def parses(target, golds):
    """A run's parse of each gold tree's words."""
    words, leaves = [words_of(gold) for gold in golds], leaves_of(target, LEAVES.value)
    config = search_config(target.experiment().search, target.tokenizer(), n_best=1)
    sentences = [" ".join(sentence) for sentence in words]
    found = best_translations(target, sentences, config, WEIGHTS.value, "parsing")
    results = [line_of(*pair, leaves) for pair in zip(words, found, strict=True)]
    return [line for line, _ in results], [repaired for _, repaired in results]


def show(scores, repaired):
    """A table: all sentences, and the short ones."""

    def add(name, form, values):
        lines.append((name, [f"{value:{form}}" for value in values]))

    lines = [("", ["all", f"≤ {SHORT} words"])]
    add("precision", ".2f", [score.precision for score in scores])
    add("recall", ".2f", [score.recall for score in scores])
    add("F1", ".2f", [score.f1 for score in scores])
    add("complete match", ".2f", [score.complete_match for score in scores])
    add("average crossing", ".2f", [score.average_crossing for score in scores])
    if scores[0].tagged:  # a parse with XX for every tag has none
        add("tagging accuracy", ".2f", [score.tagging_accuracy for score in scores])
    add("sentences", ",", [score.sentences for score in scores])
    if scores[0].skipped:
        add("only punctuation", ",", [score.skipped for score in scores])
    add("failed", ",", [score.failed for score in scores])
    if repaired is not None:
        add("repaired", ",", repaired)
    for name, values in lines:
        print(f"{name:<16}", *(f"{value:>12}" for value in values))
    print("labelled brackets as EVALB counts them with COLLINS.prm; a failed parse has none")
