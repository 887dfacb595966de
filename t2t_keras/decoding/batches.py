"""Batches of sequences of similar length, which need little padding."""

import numpy as np

LONGEST = 1024  # maximum tokens of a source, including the end token
WIDTH_MULTIPLE = 8  # batch widths are multiples of this, so that few shapes are compiled


def batches(lengths, tokens):
    """Yields lists of sequence indices, longest sequences first, because they need most memory.

    `lengths` is {index: length}. A batch has at most `tokens` rows × width, or a single sequence.
    """
    order = sorted(lengths, key=lambda index: -lengths[index])
    while order:
        rows = max(1, tokens // rounded(lengths[order[0]]))
        yield order[:rows]
        order = order[rows:]


def padded(sequences, longest=None):
    """Returns lists of ids as int32 `[rows, width]`; the width is a multiple of `WIDTH_MULTIPLE`.

    If `longest` is not None, it limits the width.
    """
    width = rounded(max(map(len, sequences)))
    width = width if longest is None else min(width, longest)
    ids = np.zeros((len(sequences), width), "int32")
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
    return ids


def stacked(arrays):
    """Stacks one or more arrays, each padded with zeros to the smallest shape that fits all."""
    shape = np.max([array.shape for array in arrays], axis=0)
    whole = np.zeros((len(arrays), *shape), arrays[0].dtype)
    for row, array in enumerate(arrays):
        whole[(row, *map(slice, array.shape))] = array  # also for scalars
    return whole


def rounded(length):
    """Rounds a length up to a multiple of `WIDTH_MULTIPLE`."""
    return -(-length // WIDTH_MULTIPLE) * WIDTH_MULTIPLE
