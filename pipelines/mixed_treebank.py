"""Gold trees and automatically parsed ones in one file, in an exact ratio. PAPER: §6.3.

Which trees go where is a function of the files and the ratio alone. Their order does not matter:
batches are drawn from all of them anew in every epoch.
"""

import itertools

from pipelines.sources import SourceError
from pipelines.treebank import TreebankPairs


def write_mixed(path, gold, automatic, ratio=None):
    """Writes both treebanks to one file, a tree a line, without traces and function tags.

    With a ratio, the smaller of the two, measured by it, is repeated from its start, in order and
    as often as it takes, the last time perhaps in part; of the larger one every tree stands once.

    Args:
        gold, automatic: files, as for `read_trees`.
        ratio: automatic trees for each gold one. None: every tree of both stands once.

    Returns:
        How many gold trees and how many automatic ones the file has.
    """
    banks = [TreebankPairs(files) for files in (gold, automatic)]
    with open(path, "w", encoding="utf-8") as file:
        sizes = [written(file, bank.trees()) for bank in banks]
        for bank, size in zip(banks, sizes, strict=True):
            if not size:
                raise SourceError(f"{bank.files[0]} holds no tree")
        wanted = amounts(*sizes, ratio)
        for bank, size, amount in zip(banks, sizes, wanted, strict=True):
            for done in range(size, amount, size):
                written(file, itertools.islice(bank.trees(), amount - done))
    return wanted


def amounts(gold, automatic, ratio):
    """How many trees of two treebanks stand in the mixture, the larger one's all once."""
    if ratio is None:
        return gold, automatic
    if automatic >= ratio * gold:
        return round(automatic / ratio), automatic
    return gold, round(ratio * gold)


def written(file, trees):
    """Writes trees, a line each; returns how many."""
    count = 0
    for tree in trees:
        file.write(f"{tree}\n")
        count += 1
    return count
