"""Alignment error rate of word alignments (Och and Ney 2003, "A Systematic Comparison of Various
Statistical Alignment Models").
"""

import re
from typing import NamedTuple

LINK = re.compile(r"([0-9]+)([-p])([0-9]+)")


class GoldAlignment(NamedTuple):
    """Reference links of a sentence pair: sets of (source index, target index), from 0."""

    sure: frozenset  # links that an alignment must have
    possible: frozenset  # links that an alignment may have, including all sure links


def alignment_error_rate(alignments, gold):
    """Returns 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) over all sentence pairs; 0 is perfect.

    Args:
        alignments: a list of links (source index, target index) for each sentence pair.
        gold: a `GoldAlignment` for each sentence pair.

    Example:

    >>> gold = [GoldAlignment(frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))]
    >>> alignment_error_rate([[(0, 0), (0, 1)]], gold)
    0.33333333333333337
    """
    agreed = total = 0
    for alignment, (sure, possible) in zip(alignments, gold, strict=True):
        links = set(alignment)
        agreed += len(links & sure) + len(links & (sure | possible))
        total += len(links) + len(sure)
    if not total:
        raise ValueError("the alignments have no links, so they have no alignment error rate")
    return 1 - agreed / total


def read_gold(lines, sizes, name="alignments"):
    """Returns a `GoldAlignment` for each line, such as `0-0 1-2 1p1`.

    In this, Pharaoh's format, a p instead of the dash marks a link that is possible but not sure.
    `sizes` are the numbers of source and target words of each pair, `name` is the file's.
    """
    if len(lines) != len(sizes):
        raise ValueError(
            f"{name} must have a line for each sentence pair. Received: {len(lines):,} lines for "
            f"{len(sizes):,} pairs"
        )
    gold = []
    for number, (line, size) in enumerate(zip(lines, sizes, strict=True), 1):
        links = [(word, link_in(word, size, f"{name}, line {number}")) for word in line.split()]
        sure = frozenset(link for word, link in links if "-" in word)
        gold.append(GoldAlignment(sure, frozenset(link for _, link in links)))
    return gold


def link_in(word, size, place):
    """Returns the two indices in a link such as `1-2`."""
    found = LINK.fullmatch(word)
    if not found:
        raise ValueError(
            f"{place}: a link must be two word indices from 0, joined by - (sure) or p (possible), "
            f"such as 1-2 or 1p2. Received: {word!r}"
        )
    link = int(found[1]), int(found[3])
    for index, count, side in zip(link, size, ("source", "target"), strict=True):
        if index >= count:
            raise ValueError(
                f"{place}: the {side} sentence has {count} words, so its indices end at "
                f"{count - 1}. Received: {word!r}"
            )
    return link
