"""A mix of corpora with given shares of the batches."""

import numpy as np


class Mix:
    """Corpora whose sentence pairs are numbered consecutively.

    Args:
        names: name of each corpus.
        sizes: number of pairs of each corpus.
        weights: relative share of each corpus in the pairs of a batch. If None, every pair of every
            corpus is seen equally often.
    """

    def __init__(self, names, sizes, weights=None):
        self.names = list(names)
        self.ends = np.cumsum(list(sizes))
        self.weights = None if weights is None else np.array(weights, float)

    def corpus_of(self, examples):
        """Returns the index of the corpus that each example belongs to."""
        return np.searchsorted(self.ends, examples, side="right")

    def counts(self, examples):
        """Returns {corpus: number of examples}."""
        counts = np.bincount(self.corpus_of(examples), minlength=len(self.names))
        return dict(zip(self.names, counts.tolist(), strict=True))

    def passes(self, kept):
        """Returns {corpus: number of times that an epoch contains each of its pairs}.

        An epoch has as many pairs as all corpora together.

        Args:
            kept: the pairs that are short enough for a batch.
        """
        counts = self.counts(kept)
        if empty := [name for name, count in counts.items() if not count]:
            raise ValueError(
                f"The corpus {empty[0]!r} has no pair that is short enough for a batch. Leave it "
                "out, or increase data.batches.max_length"
            )
        if self.weights is None:
            return dict.fromkeys(self.names, 1.0)
        shares = self.weights / self.weights.sum()
        return {
            name: float(len(kept) * share / counts[name])
            for name, share in zip(self.names, shares, strict=True)
        }

    def groups(self, members, passes):
        """Returns (examples, number of draws per epoch) for each corpus in a bucket.

        Args:
            members: examples of a bucket.
            passes: see `passes`.
        """
        corpus = self.corpus_of(members)
        groups = [members[corpus == index] for index in range(len(self.names))]
        # At least one draw per epoch, so that every pair is seen eventually.
        return [
            (group, max(1, round(len(group) * passes[name])))
            for group, name in zip(groups, self.names, strict=True)
            if len(group)
        ]

    def lines(self, kept):
        """Returns a line about each corpus: pairs, share, occurrences of each pair per epoch."""
        counts, passes = self.counts(kept), self.passes(kept)
        return [
            f"{name}: {counts[name]:,} pairs, {passes[name] * counts[name] / len(kept):.1%} of "
            f"every epoch, each pair {passes[name]:.3g} times"
            for name in self.names
        ]


def drawn(members, count, epoch, seed):
    """Returns an epoch's draws: the next part of an endless sequence of shuffled passes.

    After any number of epochs, the numbers of draws of any two members differ by at most one.

    Args:
        members: array of examples.
        count: number of draws in every epoch.
        epoch: index of the epoch.
        seed: random seed, a tuple of integers.
    """
    size = len(members)
    if count == size:
        return members
    start = epoch * count
    first, last = start // size, (start + count - 1) // size
    shuffled = [
        np.random.default_rng((*seed, index)).permutation(members)
        for index in range(first, last + 1)
    ]
    return np.concatenate(shuffled)[start - first * size :][:count]
