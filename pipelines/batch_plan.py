"""Which examples make up batch s: buckets by length, a full shuffle, resumed for nothing.

The plan is computed on the lengths alone. Every epoch has the same number of batches, so that
batch s is batch `s mod n` of epoch `s div n`, and its rows are a function of (lengths, seed,
epoch): nothing is replayed and nothing is buffered. PAPER: §5.1, "sentence pairs were batched
together by approximate sequence length".
"""

import dataclasses

import numpy as np

from pipelines.checks import check_whole_number


@dataclasses.dataclass
class BatchConfig:
    """How examples are put into batches.

    Args:
        tokens: budget of a batch on each side, source and target, padding included.
        buckets: how many shapes at most.
        max_length: the longest sequence, on either side, begin or end included.
        too_long: what becomes of a pair with a longer one: "drop" or "truncate".
        multiple: the rows of a batch are a multiple of this, and so of the number of replicas.
    """

    tokens: int = 25000
    buckets: int = 10
    max_length: int = 256
    too_long: str = "drop"
    multiple: int = 8

    def __post_init__(self):
        self.validate()

    def validate(self):
        for name in ("tokens", "buckets", "max_length", "multiple"):
            check_whole_number(name, getattr(self, name))
        if self.too_long not in ("drop", "truncate"):
            raise ValueError(
                "`too_long` must be one of 'drop', 'truncate'. "
                f"Received: too_long={self.too_long!r}"
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
            left out then, however long it is, and the last batch of a bucket has rows of padding.

    Attributes:
        boundaries: the widths of the buckets.
        rows: how many rows a batch of each bucket has, at most as many as the budget allows.
        batches_of: how many batches of each bucket an epoch has.
        steps: batches an epoch.
        too_long: how many examples are longer than `config.max_length`.
        cut_at: to what length they are cut, if they are.
        left_over: examples that an epoch leaves out, fewer than a batch has rows.
    """

    def __init__(self, lengths, config=None, seed=None):
        config = BatchConfig() if config is None else config
        lengths = np.asarray(lengths)
        if seed is not None:
            check_whole_number("seed", seed, at_least=0)
        if lengths.ndim != 2 or lengths.shape[1] != 2 or (lengths < 1).any():
            raise ValueError(
                "`lengths` must be [examples, 2], each at least 1: those of the id store and one "
                f"more, for begin or end. Received: lengths of shape {lengths.shape}, the smallest "
                f"{lengths.min(initial=1)}"
            )
        longer = lengths.max(axis=1)
        too_long = longer > config.max_length
        self.too_long = int(too_long.sum())
        self.cut_at = None
        if config.too_long == "truncate":
            self.cut_at = config.max_length
            lengths, longer = (np.minimum(x, config.max_length) for x in (lengths, longer))
            too_long[:] = False
        elif seed is None:
            self.too_long = 0
            too_long[:] = False
        kept = np.flatnonzero(~too_long)
        if not len(kept):
            raise ValueError(
                f"No example is at most max_length={config.max_length} long: there is nothing to "
                f"put into batches. Received: {len(longer)} examples"
                + (f", the shortest {longer.min()} long" if len(longer) else "")
            )
        self.seed = seed
        self.lengths = lengths
        self.boundaries = np.array(best_boundaries(longer[kept], config.buckets))
        self.examples = kept
        order = np.argsort(longer[kept], kind="stable")
        ends = np.searchsorted(longer[kept][order], self.boundaries[:-1], "right")
        self.members = np.split(order, ends)  # whom each bucket holds, the shortest first
        sizes = np.array([len(members) for members in self.members])
        most = config.tokens // self.boundaries // config.multiple * config.multiple
        most = np.maximum(most, config.multiple)  # an evaluation may hold what is over the budget
        if seed is None:
            self.batches_of = -(-sizes // most)
            even = -(-sizes // self.batches_of)
            self.rows = -(-even // config.multiple) * config.multiple
            self.left_over = 0
        else:
            self.rows, self.batches_of, self.left_over = rolled_up(sizes, most, config.multiple)
        self.steps = int(self.batches_of.sum())
        if not self.steps:
            raise ValueError(
                f"{len(kept)} examples do not fill one batch, whose rows are a multiple of "
                f"{config.multiple}"
            )
        self.planned = {}  # the batches of the epochs asked for last, by their number

    def batch(self, step):
        """Batch `step`, counted from 0 through all epochs.

        Returns:
            The numbers of its examples, its width, and its number of rows, which is larger
            than the number of examples only where an evaluation's bucket ends.
        """
        epoch, index = divmod(step, self.steps)
        planned = self.planned.get(epoch)
        if planned is None:
            planned = self.in_order() if self.seed is None else self.shuffled(epoch)
            # Two epochs, for whoever reads ahead and whoever asks what was read.
            self.planned = {**dict(list(self.planned.items())[-1:]), epoch: planned}
        return planned[index]

    def share_of_real_tokens(self):
        """How much of the first epoch's batches is not padding, counting both sides."""
        planned = [self.batch(step) for step in range(self.steps)]
        real = sum(int(self.lengths[examples].sum()) for examples, _, _ in planned)
        return real / sum(2 * width * rows for _, width, rows in planned)

    def shuffled(self, epoch):
        """An epoch's batches: each bucket shuffled, from the narrowest on, then their order.

        What a bucket has left over when its last whole batch is full goes up into the next.
        """
        random = np.random.default_rng((self.seed, epoch))
        batches, left = [], np.zeros(0, int)
        for own, rows, count, width in zip(
            self.members, self.rows, self.batches_of, self.boundaries, strict=True
        ):
            members = random.permutation(np.concatenate([left, own]))
            left = members[count * rows :]
            for chosen in members[: count * rows].reshape(count, rows):
                batches.append((self.examples[chosen], int(width), int(rows)))
        return [batches[i] for i in random.permutation(len(batches))]

    def in_order(self):
        """Every example once, from the shortest to the longest."""
        batches = []
        for own, rows, width in zip(self.members, self.rows, self.boundaries, strict=True):
            for first in range(0, len(own), rows):
                chosen = own[first : first + rows]
                batches.append((self.examples[chosen], int(width), int(rows)))
        return batches


def rolled_up(sizes, most, multiple):
    """How many rows a batch of each bucket has, how many batches, and what is left at the end.

    A bucket's sentences are spread evenly over as few batches as the budget allows, so that
    hardly any have to go up into the next bucket, where they would be padded more.
    """
    rows, batches, left = [], [], 0
    for size, most_rows in zip(sizes.tolist(), most.tolist(), strict=True):
        available = size + left
        fewest = max(1, -(-available // most_rows))
        even = max(multiple, available // fewest // multiple * multiple)
        count, left = divmod(available, even)
        rows.append(even)
        batches.append(count)
    return np.array(rows), np.array(batches), left
