"""Constituency parses written by a run (§6.3), and their scores."""

from typing import NamedTuple

from pipelines.text.sources import SourceError
from pipelines.text.treebank import parse, read_trees, repair, without_traces
from t2t_keras.evaluation.bracketing import SHORT, bracketing, length
from t2t_keras.runs.evaluation import translate_all


class ParseEvaluation(NamedTuple):
    """Labeled bracketing scores of parses.

    `scores` and `repaired`, the numbers of repaired parses, have a value for all sentences and one
    for sentences of at most `SHORT` words.
    """

    scores: list  # of `Bracketing`s
    parses: list  # one tree per sentence, as a string; "" if the model wrote nothing
    repaired: list | None = None  # None: the parses were read from a file


def evaluate_run(run, treebank, **options):
    """Parses the sentences of gold trees with a run and scores the parses."""
    golds = list(read_trees(treebank))
    words, leaves = [gold_words(gold) for gold in golds], leaf_symbol(run)
    sentences = [" ".join(sentence) for sentence in words]
    outputs = translate_all(run, sentences, task="parsing", **options)
    results = [repaired_line(*pair, leaves) for pair in zip(words, outputs, strict=True)]
    lines, repaired = [line for line, _ in results], [changed for _, changed in results]
    pairs = zip(repaired, golds, strict=True)
    short = [changed for changed, gold in pairs if length(gold) <= SHORT]
    return evaluate_lines(golds, lines, [sum(repaired), sum(short)])


def evaluate_lines(golds, lines, repaired=None):
    """Scores parses, one tree per line, against gold trees."""
    return ParseEvaluation(bracketing(golds, [*map(tree_of, lines)]), lines, repaired)


def leaf_symbol(run, given=None):
    """Returns the symbol that a run writes for a word, which must be the `given` one, if any."""
    leaves = run.prepared_with("leaves")
    if not leaves:
        raise ValueError(
            f"{run.folder} was not trained on trees, which t2t-prepare --treebank prepares"
        )
    if given not in (None, leaves[0]):
        raise ValueError(f"{run.folder} was prepared with --leaves={leaves[0]}. Received: {given}")
    return leaves[0]


def gold_words(gold):
    """Returns the words of a gold tree; an empty list if it has only traces."""
    tree = without_traces(gold)
    return tree.words() if tree else []


def repaired_line(words, brackets, leaves):
    """Returns a tree over `words` from a run's brackets, "" if it wrote none, and its repair."""
    if not words or not brackets:
        return "", False
    tree, exact = repair(words, brackets.split(), leaves)
    return str(tree), not exact


def tree_of(line):
    """Returns the tree on a line, or None if the line is not a tree."""
    try:
        return parse(line)
    except SourceError:
        return None
