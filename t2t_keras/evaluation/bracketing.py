"""Labeled bracketing scores of parses, as computed by EVALB with COLLINS.prm (§6.3, Table 4).

A bracket is the label, start and end of a constituent. Punctuation does not count as words. Traces
and `TOP` are ignored. `NP-SBJ` equals `NP`, and `PRT` equals `ADVP`. If a tree has several equal
brackets, all of them count.

Two rules differ from EVALB, so that every sentence is counted:

- A parse that is missing or has different words counts as a parse without brackets. EVALB skips
  the sentence.
- If the gold tree and the parse disagree about which words are punctuation, the gold tree decides.
  EVALB reports an error. A model that writes XX for every tag always disagrees with the gold tree.
"""

import collections
import re
from itertools import compress
from typing import NamedTuple

TRACE = "-NONE-"
PUNCTUATION = {",", ":", "``", "''", "."}
# In the files of the Penn Treebank, the outermost bracket has no label.
IGNORED_LABELS = {"TOP", "", TRACE, *PUNCTUATION}
EQUAL = {"PRT": "ADVP"}  # {label: label that it is replaced with}
SHORT = 40  # maximum number of words in a short sentence


class Bracketing(NamedTuple):
    """Counts over a set of sentences, and percentages computed from the counts.

    Args:
        sentences: sentences that are not skipped.
        skipped: sentences that consist only of punctuation and traces.
        failed: sentences whose parse is missing or has different words. Their gold brackets and
            tags count as missed.
        complete: sentences whose brackets are exactly the gold brackets.
        matched, gold, parsed: brackets in both trees, in the gold trees, and in the parses.
        crossing: brackets of parses that overlap a gold bracket without nesting.
        words: words, not including punctuation.
        tagged: words with the correct tag in the parse.
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

    precision = property(lambda self: percentage(self.matched, self.parsed))
    recall = property(lambda self: percentage(self.matched, self.gold))
    # 2 · precision · recall / (precision + recall)
    f1 = property(lambda self: percentage(2 * self.matched, self.gold + self.parsed))
    complete_match = property(lambda self: percentage(self.complete, self.sentences))
    tagging_accuracy = property(lambda self: percentage(self.tagged, self.words))
    # Mean number of crossing brackets in sentences that have a parse.
    average_crossing = property(lambda self: self.crossing / max(1, self.sentences - self.failed))


def percentage(part, whole):
    return 100 * part / whole if whole else 0.0


def summed(counts):
    """Returns the `Bracketing` of all sentences, given one for each sentence."""
    return Bracketing(*map(sum, zip(*counts, strict=True)))


def bracketing(golds, parses):
    """Compares the parses of a treebank with its gold trees.

    Args:
        golds: the gold trees. A tree has `label`, `children`, `is_leaf` and `leaves()`, which
            returns its leaves from left to right. The label of a leaf is its tag, and its only
            child is its word.
        parses: for each gold tree, the parse, or None if parsing failed.

    Returns:
        The `Bracketing` of all sentences, and the `Bracketing` of the sentences with at most
        `SHORT` words.
    """
    if len(golds) != len(parses):
        raise ValueError(
            "There must be as many parses as gold trees, with an empty line for each failed parse. "
            f"Received: {len(golds):,} gold trees and {len(parses):,} parses"
        )
    if not golds:
        raise ValueError("There is nothing to score: there are no gold trees")
    counts = [compared(gold, parse) for gold, parse in zip(golds, parses, strict=True)]
    short = [each for each, gold in zip(counts, golds, strict=True) if length(gold) <= SHORT]
    return summed(counts), summed(short)


def compared(gold, parse):
    """Returns the `Bracketing` of one sentence."""
    tokens = tokens_of(gold)
    is_word = [tag not in PUNCTUATION for tag, _ in tokens]
    if not any(is_word):
        return Bracketing(skipped=1)
    expected = brackets_of(gold, is_word)
    failure = Bracketing(sentences=1, failed=1, gold=len(expected), words=sum(is_word))
    if parse is None:
        return failure
    parse_tokens = tokens_of(parse)
    parse_is_word = [tag not in PUNCTUATION for tag, _ in parse_tokens]
    words, parse_words = ([word for _, word in each] for each in (tokens, parse_tokens))
    if [*compress(words, is_word)] != [*compress(parse_words, parse_is_word)]:
        if words != parse_words:
            return failure
        parse_is_word = is_word  # the trees disagree only about punctuation
    found = brackets_of(parse, parse_is_word)
    matched = (collections.Counter(expected) & collections.Counter(found)).total()
    pairs = zip(compress(tokens, is_word), compress(parse_tokens, parse_is_word), strict=True)
    return Bracketing(
        sentences=1,
        complete=int(matched == len(expected) == len(found)),
        matched=matched,
        gold=len(expected),
        parsed=len(found),
        crossing=crossing(expected, found),
        words=sum(is_word),
        tagged=sum(tag == parse_tag for (tag, _), (parse_tag, _) in pairs),
    )


def length(tree):
    """Returns the number of words of a sentence, including punctuation but not traces."""
    return len(tokens_of(tree))


def tokens_of(tree):
    """Returns (tag, word) for each leaf that is not a trace."""
    return [(leaf.label, leaf.children[0]) for leaf in tree.leaves() if leaf.label != TRACE]


def brackets_of(tree, flags):
    """Returns the brackets (label, start, end) of a tree; positions count only words."""
    brackets, remaining = [], iter(flags)

    def walk(tree, start):
        if tree.is_leaf:
            return start + int(tree.label != TRACE and next(remaining))
        end = start
        for child in tree.children:
            end = walk(child, end)
        # Without function tags, unless nothing else is left.
        label = re.split("[-=]", tree.label)[0] or tree.label
        label = EQUAL.get(label, label)
        if end > start and label not in IGNORED_LABELS:
            brackets.append((label, start, end))
        return end

    walk(tree, 0)
    return brackets


def crossing(expected, found):
    """Counts the brackets in `found` that overlap a bracket in `expected` without nesting."""
    spans = {(start, end) for _, start, end in expected}
    return sum(
        any(start < left < end < right or left < start < right < end for left, right in spans)
        for _, start, end in found
    )
