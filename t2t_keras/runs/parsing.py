"""What a run is given to parse, and the trees of what it writes."""

from pipelines.sources import SourceError
from pipelines.treebank import parse, repair, without_traces


def leaves_of(run, given):
    """What stands for a word in what a run writes.

    Args:
        given: the value of --leaves, or None. It is needed where the run's encoded text is gone.
    """
    (known, _) = run.prepared_with("leaves") or (None, None)
    if known and given and known != given:
        raise ValueError(f"{run.folder} was prepared with --leaves={known}, and not {given}")
    return known or given or "XX"


def words_of(gold):
    """The words of a gold tree, which are what a run parses; none if it holds only traces."""
    tree = without_traces(gold)
    return tree.words() if tree else []


def line_of(words, brackets, leaves):
    """A tree of what a run wrote, and whether it had to be repaired; "" if it wrote nothing."""
    if not words or not brackets:
        return "", False
    tree, exact = repair(words, brackets.split(), leaves)
    return str(tree), not exact


def tree_on(line):
    """The tree that a line holds; None if it is not one."""
    try:
        return parse(line)
    except SourceError:
        return None
