"""Labelled brackets of parses, counted as EVALB counts them with COLLINS.prm. PAPER: §6.3, Table 4.

A bracket is a constituent's label, and where it begins and ends. Punctuation is no word, traces
and `TOP` do not count, `NP-SBJ` is `NP`, `PRT` is `ADVP`, and of equal brackets each counts.

Two things are not EVALB's, so that no sentence is lost. A parse that is missing or has other words
counts as one without brackets: EVALB leaves such sentences out. And where gold and parse disagree
about which words are punctuation, as a model's XX for every tag does, the gold tree says which:
EVALB gives those up as errors, and everywhere else the counts are the same.
"""

import collections
import dataclasses
import re

TRACE = "-NONE-"
PUNCTUATION = {",", ":", "``", "''", "."}
# The outermost bracket of the Penn Treebank's own files has no label at all.
NOT_COUNTED = {"TOP", "", TRACE, *PUNCTUATION}
EQUAL = {"PRT": "ADVP"}
SHORT = 40  # words, up to which a sentence is also counted among the short ones


@dataclasses.dataclass(frozen=True)
class Bracketing:
    """What was counted in some sentences; percentages of it.

    Args:
        sentences: all but those that are skipped.
        skipped: sentences of nothing but punctuation and traces.
        failed: sentences whose parse is missing or has other words. All their gold brackets are
            missed, and all their tags.
        complete: sentences whose brackets are exactly the gold ones.
        matched, gold, parsed: brackets in both, in the gold trees, in the parses.
        crossing: brackets of parses that overlap one of the gold tree without nesting.
        words, tagged: words that count, and those with the gold tree's tag.
    """

    sentences: int = 0
    skipped: int = 0
    failed: int = 0
    complete: int = 0
    matched: int = 0
    gold: int = 0
    parsed: int = 0
    crossing: int = 0
    words: int = 0
    tagged: int = 0

    def __add__(self, other):
        mine, others = dataclasses.astuple(self), dataclasses.astuple(other)
        return Bracketing(*(a + b for a, b in zip(mine, others, strict=True)))

    @property
    def precision(self):
        return percentage(self.matched, self.parsed)

    @property
    def recall(self):
        return percentage(self.matched, self.gold)

    @property
    def f1(self):
        # 2 · precision · recall / (precision + recall)
        return percentage(2 * self.matched, self.gold + self.parsed)

    @property
    def complete_match(self):
        return percentage(self.complete, self.sentences)

    @property
    def average_crossing(self):
        """Crossing brackets in a sentence that has a parse."""
        return percentage(self.crossing, self.sentences - self.failed) / 100

    @property
    def tagging_accuracy(self):
        return percentage(self.tagged, self.words)


def percentage(part, whole):
    return 100 * part / whole if whole else 0.0


def bracketing(golds, parses):
    """Counts over a treebank.

    Args:
        golds: trees. A tree has a `label`, `children` and `is_leaf`; a leaf's label is its tag
            and its only child its word. `leaves()` are those from left to right.
        parses: as many trees; None is a failed parse.

    Returns:
        The `Bracketing` of all sentences, and that of those of at most `SHORT` words.
    """
    if len(golds) != len(parses):
        raise ValueError(
            "Gold trees and parses must be equally many, an empty line for each that failed. "
            f"Received: {len(golds):,} and {len(parses):,}"
        )
    if not golds:
        raise ValueError("There is nothing to score: no gold tree at all")
    everything = short = Bracketing()
    for gold, parse in zip(golds, parses, strict=True):
        counted = compared(gold, parse)
        everything += counted
        if length(gold) <= SHORT:
            short += counted
    return everything, short


def compared(gold, parse):
    """The `Bracketing` of one sentence."""
    tokens = tokens_of(gold)
    counts = counting(tokens)
    if not any(counts):
        return Bracketing(skipped=1)
    wanted = brackets_of(gold, counts)
    failure = Bracketing(sentences=1, failed=1, gold=len(wanted), words=sum(counts))
    if parse is None:
        return failure
    parse_tokens = tokens_of(parse)
    parse_counts = counting(parse_tokens)
    if words_of(parse_tokens, parse_counts) != words_of(tokens, counts):
        parse_counts = counts  # another idea of what is punctuation, or really other words
        if words_of(parse_tokens) != words_of(tokens):
            return failure
    found = brackets_of(parse, parse_counts)
    matched = (collections.Counter(wanted) & collections.Counter(found)).total()
    tags = zip(tags_of(tokens, counts), tags_of(parse_tokens, parse_counts), strict=True)
    return Bracketing(
        sentences=1,
        complete=int(matched == len(wanted) == len(found)),
        matched=matched,
        gold=len(wanted),
        parsed=len(found),
        crossing=crossing(wanted, found),
        words=sum(counts),
        tagged=sum(one == other for one, other in tags),
    )


def length(tree):
    """A sentence's length is that with punctuation, without traces."""
    return len(tokens_of(tree))


def tokens_of(tree):
    """(tag, word) of all that is no trace."""
    return [(leaf.label, leaf.children[0]) for leaf in tree.leaves() if leaf.label != TRACE]


def counting(tokens):
    """Whether each token is one of the words that brackets stand around."""
    return [tag not in PUNCTUATION for tag, _ in tokens]


def words_of(tokens, counts=None):
    counts = [True] * len(tokens) if counts is None else counts
    return [word for (_, word), counted in zip(tokens, counts, strict=True) if counted]


def tags_of(tokens, counts):
    return [tag for (tag, _), counted in zip(tokens, counts, strict=True) if counted]


def brackets_of(tree, counts):
    """The brackets that count: (label, start, end), in numbers of words that count."""
    found, remaining = [], iter(counts)

    def walk(tree, start):
        if tree.is_leaf:
            return start + int(tree.label != TRACE and next(remaining))
        end = start
        for child in tree.children:
            end = walk(child, end)
        label = label_of(tree)
        if end > start and label not in NOT_COUNTED:
            found.append((label, start, end))
        return end

    walk(tree, 0)
    return found


def label_of(tree):
    """The label without function tags; a label of which nothing would be left stays."""
    label = re.split("[-=]", tree.label)[0] or tree.label
    return EQUAL.get(label, label)


def crossing(wanted, found):
    """How many brackets of `found` overlap one of `wanted`, neither being inside the other."""
    spans = {(start, end) for _, start, end in wanted}
    return sum(
        any(start < left < end < right or left < start < right < end for left, right in spans)
        for _, start, end in found
    )
