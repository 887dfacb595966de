"""Sequences put together by length, so that little of a batch is padding."""

import numpy as np

WIDTHS = 8  # batches are as wide as a multiple of this, so that few shapes are compiled


def batches(lengths, tokens):
    """Numbers of sequences, batch by batch; the longest first, because it needs most memory.

    Args:
        lengths: {number: how long the sequence is}.
        tokens: rows × width of a batch, at most (one row is always taken).
    """
    order = sorted(lengths, key=lambda number: -lengths[number])
    while order:
        rows = max(1, tokens // rounded(lengths[order[0]]))
        yield order[:rows]
        order = order[rows:]


def padded(sequences, longest=None):
    """The ids of some sequences, int32 `[rows, width]`.

    Args:
        sequences: ids of each.
        longest: the greatest width that is allowed. None: any is.
    """
    width = rounded(max(map(len, sequences)))
    width = width if longest is None else min(width, longest)
    ids = np.zeros((len(sequences), width), "int32")
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
    return ids


def rounded(length):
    return -(-length // WIDTHS) * WIDTHS
