"""Writes gold trees and automatically parsed trees to one file in an exact ratio. PAPER: §6.3.

The number of copies of each tree depends only on the files and the ratio. The order of the trees
does not matter, because every epoch draws its batches from the whole file.
"""

import itertools

from pipelines.text.sources import SourceError
from pipelines.text.treebank import TreebankPairs


def write_mixed(path, gold, automatic, ratio=None):
    """Writes two treebanks to one file, one tree per line, without traces and function tags.

    If a ratio is given, the treebank that is too small is repeated in order until the ratio is
    exact. The other treebank is written once.

    Args:
        path: the file to write.
        gold, automatic: files, as for `read_trees`.
        ratio: number of automatic trees per gold tree. If None, every tree is written once.

    Returns:
        The numbers of gold and automatic trees in the file.
    """
    banks = [TreebankPairs(files) for files in (gold, automatic)]
    with open(path, "w", encoding="utf-8") as file:
        sizes = [write_trees(file, bank.trees()) for bank in banks]
        for bank, size in zip(banks, sizes, strict=True):
            if not size:
                raise SourceError(f"{bank.files[0]} contains no tree")
        totals = amounts(*sizes, ratio)
        for bank, size, total in zip(banks, sizes, totals, strict=True):
            for done in range(size, total, size):
                write_trees(file, itertools.islice(bank.trees(), total - done))
    return totals


def amounts(gold, automatic, ratio):
    """Returns the number of trees of each treebank in the mixture, given their sizes."""
    if ratio is None:
        return gold, automatic
    if automatic >= ratio * gold:
        return round(automatic / ratio), automatic
    return gold, round(ratio * gold)


def write_trees(file, trees):
    """Writes trees, one per line, and returns their number."""
    count = 0
    for tree in trees:
        file.write(f"{tree}\n")
        count += 1
    return count
