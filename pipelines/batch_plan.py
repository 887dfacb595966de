"""Which examples make up batch s: buckets by length, a full shuffle, resumed for nothing.

The plan is computed on the lengths alone. Every epoch has the same number of batches, so that
batch s is batch `s mod n` of epoch `s div n`, and its rows are a function of (lengths, seed,
epoch): nothing is replayed and nothing is buffered. PAPER: §5.1, "sentence pairs were batched
together by approximate sequence length".
"""

import dataclasses

import numpy as np


@dataclasses.dataclass
class BatchConfig:
    """How examples are put into batches.

    Args:
        tokens: budget of a batch on each side, source and target, padding included.
        buckets: how many shapes at most.
        max_length: the longest sequence, on either side, that is kept.
        multiple: the rows of a batch are a multiple of this.
    """

    tokens: int = 25000
    buckets: int = 10
    max_length: int = 256
    multiple: int = 8

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"`{field.name}` must be a whole number of at least 1. "
                    f"Received: {field.name}={value!r}"
                )
        if self.tokens < self.multiple * self.max_length:
            raise ValueError(
                f"`tokens` must be at least multiple · max_length = {self.multiple} · "
                f"{self.max_length} = {self.multiple * self.max_length}, so that a batch of the "
                f"longest sequences has {self.multiple} rows. Received: tokens={self.tokens}"
            )


def best_boundaries(lengths, buckets):
    """The widths that pad least: dynamic programming over the histogram of lengths.

    A bucket (a, b] costs b positions for each of its sequences. The cheapest way to cover the
    lengths up to b with k buckets ends in some bucket (a, b] after the cheapest way to cover
    those up to a with k − 1.

    Args:
        lengths: integers of at least 1, one for each sequence.
        buckets: how many widths at most.

    Returns:
        Increasing integers, the last of which is the longest length.
    """
    present, counts = np.unique(lengths, return_counts=True)
    until = np.concatenate([[0], np.cumsum(counts)])  # sequences of the first i lengths present
    width = np.concatenate([[0], present])
    # Positions spent if one bucket holds the lengths number start … end − 1: [start, end].
    spent = (until[None, :] - until[:, None]) * width[None, :]
    spent = np.where(np.arange(len(width))[:, None] < np.arange(len(width)), spent, np.inf)

    least = np.full(len(width), np.inf)  # for the first i lengths, with the buckets so far
    least[0] = 0
    starts = []  # of the last bucket, for each i, one array for each number of buckets
    for _ in range(min(buckets, len(present))):
        total = least[:, None] + spent
        starts.append(total.argmin(axis=0))
        least = total.min(axis=0)
    boundaries, end = [], len(present)
    for start in reversed(starts):
        boundaries.append(int(width[end]))
        end = start[end]
    return boundaries[::-1]


class BatchPlan:
    """Every epoch's batches of one corpus.

    Args:
        lengths: integers `[examples, 2]`: how long source and target are in a batch, their end
            and begin included.
        config: a `BatchConfig`.
        seed: of the order. None: examples in order of length, for evaluation; no example is
            left out then, and the last batch of a bucket has rows of padding.

    Attributes:
        boundaries: the widths of the buckets.
        rows: how many rows a batch of each bucket has.
        steps: batches an epoch.
        too_long: examples longer than `config.max_length`, which no batch holds.
        left_over: examples that an epoch leaves out, fewer than a batch has rows.
    """

    def __init__(self, lengths, config=None, seed=None):
        config = BatchConfig() if config is None else config
        longer = np.asarray(lengths).max(axis=1)
        kept = np.flatnonzero(longer <= config.max_length)
        if not len(kept):
            raise ValueError(
                f"No example is at most max_length={config.max_length} long: there is nothing to "
                f"put into batches. Received: {len(longer)} examples"
                + (f", the shortest {longer.min()} long" if len(longer) else "")
            )
        self.seed = seed
        self.too_long = len(longer) - len(kept)
        self.boundaries = np.array(best_boundaries(longer[kept], config.buckets))
        self.rows = config.tokens // self.boundaries // config.multiple * config.multiple
        self.examples = kept
        self.bucket = np.searchsorted(self.boundaries, longer[kept])
        self.longer = longer[kept]
        sizes = np.bincount(self.bucket, minlength=len(self.boundaries))
        if seed is None:
            self.batches_of = -(-sizes // self.rows)
            self.left_over = 0
        else:
            self.batches_of, self.left_over = rolled_up(sizes, self.rows)
        self.steps = int(self.batches_of.sum())
        if not self.steps:
            raise ValueError(
                f"{len(kept)} examples do not fill one batch of {self.rows[-1]} rows "
                f"(`tokens`={config.tokens}, sequences of up to {self.boundaries[-1]}): "
                "lower `tokens`"
            )
        self.epoch, self.planned = None, None

    def batch(self, step):
        """Batch `step`, counted from 0 through all epochs.

        Returns:
            The numbers of its examples, its width, and its number of rows, which is larger
            than the number of examples only where an evaluation's bucket ends.
        """
        epoch, index = divmod(step, self.steps)
        if self.epoch != epoch:
            self.planned = self.shuffled(epoch) if self.seed is not None else self.in_order()
            self.epoch = epoch
        return self.planned[index]

    def shuffled(self, epoch):
        """An epoch's batches: shuffle all, fill the buckets from the narrowest, shuffle again.

        What a bucket has left over when its last whole batch is full goes up into the next.
        """
        random = np.random.default_rng((self.seed, epoch))
        order = random.permutation(len(self.examples))
        by_bucket = order[np.argsort(self.bucket[order], kind="stable")]
        ends = np.cumsum(np.bincount(self.bucket, minlength=len(self.boundaries)))
        batches, left, start = [], by_bucket[:0], 0
        for end, rows, count, width in zip(
            ends, self.rows, self.batches_of, self.boundaries, strict=True
        ):
            members = np.concatenate([left, by_bucket[start:end]])
            left, start = members[count * rows :], end
            for chosen in members[: count * rows].reshape(count, rows):
                batches.append((self.examples[chosen], int(width), int(rows)))
        return [batches[i] for i in random.permutation(len(batches))]

    def in_order(self):
        """Every example once, from the shortest to the longest."""
        order = np.argsort(self.longer, kind="stable")
        batches, start = [], 0
        for end, rows, width in zip(
            np.cumsum(np.bincount(self.bucket, minlength=len(self.boundaries))),
            self.rows,
            self.boundaries,
            strict=True,
        ):
            for first in range(start, end, rows):
                chosen = order[first : min(first + rows, end)]
                batches.append((self.examples[chosen], int(width), int(rows)))
            start = end
        return batches


def rolled_up(sizes, rows):
    """How many whole batches each bucket gives, and how many examples are left at the end."""
    batches, left = [], 0
    for size, row_count in zip(sizes, rows, strict=True):
        count, left = divmod(int(size) + left, int(row_count))
        batches.append(count)
    return np.array(batches), left
