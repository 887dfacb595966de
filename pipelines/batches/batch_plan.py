"""Determines which examples make up batch s: buckets by length, reshuffled every epoch.

Batches are planned from the lengths and the mix of corpora alone. Every epoch has the same number
of batches n, so batch s is batch `s mod n` of epoch `s div n`. The rows of a batch depend only on
(lengths, mix, seed, epoch), so a run can resume at any step without replaying or buffering earlier
batches. PAPER: §5.1, "sentence pairs were batched together by approximate sequence length".

If sentences have several encodings, each epoch chooses among them. The sizes of the buckets then
vary slightly between epochs, so a batch may contain a few rows of padding.
"""

import dataclasses
import functools

import numpy as np

from pipelines.batches.corpora import Mix, drawn
from pipelines.checks import setting, validate


@dataclasses.dataclass
class BatchConfig:
    """Settings for grouping examples into batches.

    Args:
        tokens: maximum number of positions in a batch on each side, including padding.
        buckets: maximum number of batch shapes.
        max_length: maximum length of a sequence on either side, including the begin or end token.
        too_long: treatment of pairs with a longer sequence: "drop" or "truncate".
        row_multiple: the number of rows is a multiple of this. The number of replicas should
            divide it.
    """

    tokens: int = setting(25000, at_least=1)
    buckets: int = setting(10, at_least=1)
    max_length: int = setting(256, at_least=1)
    too_long: str = setting("drop", choices=("drop", "truncate"))
    row_multiple: int = setting(8, at_least=1)

    def validate(self, prefix=""):
        """Raises `ValueError` for the first wrong setting."""
        validate(self, prefix)
        if self.tokens < self.row_multiple * self.max_length:
            raise ValueError(
                f"`tokens` must be at least row_multiple · max_length = {self.row_multiple} · "
                f"{self.max_length} = {self.row_multiple * self.max_length}, so that a batch of "
                f"the longest sequences has {self.row_multiple} rows. Received: "
                f"tokens={self.tokens}"
            )


def best_boundaries(counts, buckets):
    """Returns the bucket widths that need the least padding, found by dynamic programming.

    Bucket (a, b] needs b positions for each of its sequences. The cheapest cover of the lengths
    up to b with k buckets consists of some bucket (a, b] and the cheapest cover of the lengths up
    to a with k − 1 buckets.

    Args:
        counts: number of sequences of each length, `[length]`.
        buckets: maximum number of widths.

    Returns:
        An increasing list of integers that ends with the largest length.
    """
    present = np.flatnonzero(counts)
    # until[i]: number of sequences shorter than present[i]
    until = np.concatenate([[0], np.cumsum(counts[present])])
    width = np.concatenate([[0], present])
    # cost[i, j]: positions of one bucket that holds the lengths present[i:j].
    cost = (until[None, :] - until[:, None]) * width[None, :]
    cost = np.where(np.arange(len(width))[:, None] < np.arange(len(width)), cost, np.inf)

    least = np.full(len(width), np.inf)  # least[i]: cost of the cheapest cover of present[:i]
    least[0] = 0
    starts = []  # starts[k][i]: where the last of k + 1 buckets covering present[:i] starts
    for _ in range(min(buckets, len(present))):
        total = least[:, None] + cost
        starts.append(total.argmin(axis=0))
        least = total.min(axis=0)
    boundaries, end = [], len(present)
    for start in reversed(starts):
        boundaries.append(int(width[end]))
        end = start[end]
    return boundaries[::-1]


class BatchPlan:
    """The batches of every epoch of a corpus, or of a mix of corpora.

    Args:
        lengths: integers `[examples, 2]`: the lengths of source and target, including the begin or
            end id. `[encodings, examples, 2]` if the examples have several encodings. The first
            encoding then determines which examples are too long, and is the only one that
            evaluations use.
        config: a `BatchConfig`.
        seed: random seed for the order. If None, the plan is for an evaluation: the examples are
            sorted by length, none is dropped, and padding rows fill up the last batch of each
            bucket.
        mix: a `Mix`, if the examples are from several corpora. Ignored in an evaluation.

    Attributes:
        examples: indices of the examples in the plan.
        boundaries: widths of the buckets.
        rows: number of rows per batch, for each bucket.
        batches_of: number of batches per epoch, for each bucket.
        steps: number of batches per epoch.
        too_long: number of examples longer than `config.max_length`.
        cut_at: length at which sequences are truncated, or None.
        left_over: number of examples left out of each epoch, because they do not fill a batch.
    """

    def __init__(self, lengths, config=None, seed=None, mix=None):
        config = config or BatchConfig()
        config.validate()
        lengths = np.asarray(lengths)
        lengths = lengths[None] if lengths.ndim == 2 else lengths
        lengths = lengths[:1] if seed is None else lengths
        self.seed, self.mix = seed, None if seed is None else mix
        self.cut_at = config.max_length if config.too_long == "truncate" else None
        self.is_too_long = lengths > config.max_length
        self.lengths = lengths if self.cut_at is None else np.minimum(lengths, self.cut_at)
        longer = self.lengths[0].max(axis=1)
        is_evaluation = seed is None and self.cut_at is None
        self.too_long = 0 if is_evaluation else int(self.is_too_long[0].any(axis=1).sum())
        kept = np.flatnonzero((longer <= config.max_length) | is_evaluation)
        if not len(kept):
            raise ValueError(
                f"No example fits into max_length={config.max_length}, so there are no batches. "
                f"Received: {len(longer)} examples, the shortest of length "
                f"{longer.min(initial=2**31 - 1)}"
            )
        self.examples = kept
        mix = self.mix or Mix([""], [len(longer)])
        passes = mix.passes(kept)
        counts = self.expected_counts(passes[mix.corpus_of(kept)])
        self.boundaries = np.array(best_boundaries(counts, config.buckets))
        by_length = kept[np.argsort(longer[kept], kind="stable")]
        ends = np.searchsorted(longer[by_length], self.boundaries[:-1], "right")
        # For each bucket, a list of (examples sorted by length, number of draws per epoch).
        self.groups = [mix.groups(members, passes) for members in np.split(by_length, ends)]
        sizes = np.array([sum(count for _, count in groups) for groups in self.groups])
        if len(lengths) > 1:  # sizes vary between epochs, so these are expected sizes
            until = np.cumsum(counts)[self.boundaries]
            sizes = np.rint(np.diff(until, prepend=0)).astype(int)
        multiple = config.row_multiple
        # In an evaluation, the longest examples may exceed the token budget.
        most = np.maximum(config.tokens // self.boundaries // multiple * multiple, multiple)
        if seed is None:
            self.batches_of = -(-sizes // most)
            even = -(-sizes // self.batches_of)
            self.rows = -(-even // multiple) * multiple
            self.left_over = 0
        else:
            self.rows, self.batches_of, self.left_over = even_batches(sizes, most, multiple)
        self.steps = int(self.batches_of.sum())
        if not self.steps:
            raise ValueError(
                f"{len(kept)} examples do not fill one batch, which needs a multiple of {multiple} "
                "rows. Add text, or decrease data.batches.row_multiple"
            )
        # A reader that prefetches may be one epoch ahead of other callers.
        self.epoch = functools.lru_cache(2)(self.in_order if seed is None else self.shuffled)

    def batch(self, step):
        """Returns (example indices, width, number of rows, encoding indices `[examples, 2]`).

        A batch has more rows than examples only if it is the last batch of a bucket in an
        evaluation, or if the examples have several encodings.

        `step` is counted from 0 across all epochs.
        """
        epoch, index = divmod(step, self.steps)
        choices, width, rows = self.epoch(epoch)[index]
        examples, encodings = self.divided(choices)
        return examples, width, rows, encodings

    def tokens(self, step):
        """Returns the number of non-padding tokens in a batch, source and target combined."""
        examples, _, _, encodings = self.batch(step)
        return int(self.lengths[encodings, examples[:, None], (0, 1)].sum())

    def share_of_real_tokens(self):
        """Returns the share of non-padding positions in the first epoch, both sides combined."""
        real = sum(map(self.tokens, range(self.steps)))
        return real / sum(2 * width * rows for _, width, rows in self.epoch(0))

    def choices(self, examples, encodings):
        """Returns an integer for each example and its encodings, so that it can be shuffled.

        The encoding without dropout replaces any that are too long.
        """
        encodings = np.where(self.is_too_long[encodings, examples[:, None], (0, 1)], 0, encodings)
        number = len(self.lengths)
        return examples * number**2 + encodings @ (number, 1)

    def divided(self, choices):
        """Returns the examples of some choices, and their encodings, `[examples, 2]`."""
        number = len(self.lengths)
        return choices // number**2, np.stack([choices // number, choices], axis=1) % number

    def longer(self, choices):
        """Returns the length of the longer side in each of some choices."""
        examples, encodings = self.divided(choices)
        return self.lengths[encodings, examples[:, None], (0, 1)].max(axis=1)

    def expected_counts(self, often):
        """Returns the expected number of examples of each length in an epoch, `[length]`.

        It is computed from choices that together contain every encoding equally often. `often` is
        the number of times that an epoch contains each example.
        """
        number, random = len(self.lengths), np.random.default_rng(self.seed)
        shift, total = random.integers(number, size=len(self.examples)), 0
        for source in range(number):
            encodings = np.stack([np.full_like(shift, source), (source + shift) % number], axis=1)
            longer = self.longer(self.choices(self.examples, encodings))
            total += np.bincount(longer, often, minlength=self.lengths.max() + 1)
        return total / number

    def shuffled(self, epoch):
        """Returns the batches of an epoch in random order, with each bucket shuffled.

        Buckets are filled from the narrowest to the widest. Examples left over after the last full
        batch of a bucket move up to the next bucket.
        """
        random = np.random.default_rng((self.seed, epoch))
        batches, left_over = [], np.zeros(0, int)
        buckets = self.members(epoch, random), self.rows, self.batches_of, self.boundaries
        for own, rows, count, width in zip(*buckets, strict=True):
            members = random.permutation(np.concatenate([left_over, own]))
            left_over = members[count * rows :]
            # Split evenly, so that no batch is much smaller than the others if members are missing.
            for chosen in np.array_split(members[: count * rows], max(1, count))[:count]:
                batches.append((chosen, int(width), int(rows)))
        return [batches[i] for i in random.permutation(len(batches))]

    def members(self, epoch, random):
        """Returns the choices of each bucket in an epoch."""
        members = []
        for bucket, groups in enumerate(self.groups):
            own = (drawn(*each, epoch, (self.seed, bucket, i)) for i, each in enumerate(groups))
            members.append(np.concatenate([np.zeros(0, int), *own]))
        if len(self.lengths) == 1:
            return members
        examples = np.concatenate(members)
        encodings = random.integers(len(self.lengths), size=(len(examples), 2))
        chosen = self.choices(examples, encodings)
        buckets = np.searchsorted(self.boundaries, self.longer(chosen))
        return [chosen[buckets == bucket] for bucket in range(len(self.boundaries))]

    def in_order(self, epoch):
        """Returns batches that hold every example once, from the shortest to the longest."""
        del epoch
        return [
            (own[first : first + rows], int(width), int(rows))
            for [(own, _)], rows, width in zip(self.groups, self.rows, self.boundaries, strict=True)
            for first in range(0, len(own), rows)
        ]


def even_batches(sizes, most, multiple):
    """Returns (rows per batch, number of batches, examples left over). The first two are arrays.

    A bucket's examples, `sizes`, are spread evenly over as few batches as the budget allows, at
    most `most` rows in each, so only a few move up to the next bucket and need more padding.
    """
    rows, counts, left_over = [], [], 0
    for size, most_rows in zip(sizes.tolist(), most.tolist(), strict=True):
        available = size + left_over
        fewest = max(1, -(-available // most_rows))
        even = max(multiple, available // fewest // multiple * multiple)
        count, left_over = divmod(available, even)
        rows.append(even)
        counts.append(count)
    return np.array(rows), np.array(counts), left_over
