"""Chooses one of the encodings of each sentence at random in each epoch.

The encodings of source and target are chosen independently. A choice is a single integer, so that
it can be shuffled and sorted like the index of an example.
"""

import numpy as np


class Encodings:
    """The lengths of all encodings of all pairs.

    Args:
        lengths: integers `[encodings, examples, 2]`. The first encoding is without dropout.
        longest: maximum length. The encoding without dropout replaces longer encodings.
        cut_at: length at which sequences are truncated, or None.
    """

    def __init__(self, lengths, longest, cut_at=None):
        self.lengths, self.longest, self.cut_at = lengths, longest, cut_at
        self.number = len(lengths)

    def chosen(self, examples, random):
        """Chooses encodings of source and target for each example, with a NumPy `Generator`."""
        if self.number == 1:
            return examples
        return self.numbers(examples, random.integers(self.number, size=(len(examples), 2)))

    def numbers(self, examples, indices):
        """Returns the choices for given encodings. Encoding 0 replaces any that are too long."""
        too_long = self.lengths[indices, examples[:, None], (0, 1)] > self.longest
        source, target = np.where(too_long, 0, indices).T
        return (examples * self.number + source) * self.number + target

    def spread(self, examples, random):
        """Yields arrays of choices that together contain every encoding equally often."""
        if self.number == 1:
            yield examples
            return
        shift = random.integers(self.number, size=len(examples))
        for source in range(self.number):
            target = (source + shift) % self.number
            yield self.numbers(examples, np.stack([np.full_like(shift, source), target], axis=1))

    def counts(self, examples, random, often=None):
        """Returns the expected number of examples of each length in an epoch, `[length]`.

        Args:
            examples, random: see `chosen`. The length of an example is the length of its
                longer side.
            often: number of times that an epoch contains each example. If None, once.
        """
        longest = self.lengths.max() if self.cut_at is None else self.cut_at
        total = sum(
            np.bincount(self.lengths_of(choices).max(axis=1), often, minlength=longest + 1)
            for choices in self.spread(examples, random)
        )
        return total / self.number

    def examples(self, numbers):
        """Returns the example index of each choice."""
        return numbers // self.number**2

    def indices(self, numbers):
        """Returns the source and target encoding indices of each choice, `[choices, 2]`."""
        return np.stack([numbers // self.number, numbers], axis=1) % self.number

    def lengths_of(self, numbers):
        """Returns the lengths of source and target in the chosen encodings, `[choices, 2]`."""
        lengths = self.lengths[self.indices(numbers), self.examples(numbers)[:, None], (0, 1)]
        return lengths if self.cut_at is None else np.minimum(lengths, self.cut_at)
