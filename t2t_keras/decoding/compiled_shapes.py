"""Shapes of small batches for which XLA compiles a search of its own.

On a CPU, a search for a few sentences spends most of its time between small operations. XLA joins
many of them, but needs seconds to compile each shape. So batches are padded to one of a few shapes.
Commands compile a shape once the search without XLA has taken as long as compilation takes: then
the loss is small if no more sentences follow, and the gain is large if many do.
"""

import collections
import time
from typing import NamedTuple

import numpy as np
from absl import logging

from t2t_keras.decoding.special_ids import PADDING

ROWS, LENGTHS = (1, 2, 4), (16, 32, 64)
ROOM = 16  # tokens by which an output of a compiled search may be longer than its padded source
PAYS_AFTER = 10.0  # seconds; compilation takes 5 to 15


class Shape(NamedTuple):
    """A shape of source ids."""

    rows: int
    length: int


class CompiledShapes:
    """The shapes that are compiled so far.

    Args:
        compile_shape: function that calls the compiled search with a batch of a `Shape`.
        longest: maximum length of a source. None: no maximum.
        pays_after: seconds without XLA after which a shape is compiled. None: `PAYS_AFTER`.
    """

    def __init__(self, compile_shape, longest=None, pays_after=None):
        self.compile_shape = compile_shape
        self.pays_after = PAYS_AFTER if pays_after is None else pays_after
        lengths = [length for length in LENGTHS if longest is None or length <= longest]
        self.shapes = [Shape(rows, length) for rows in ROWS for length in lengths]
        self.ready, self.failed = set(), False
        self.seconds = collections.Counter()  # taken without XLA, by shape

    def shape_for(self, rows, length):
        """Returns the smallest shape, compiled or not, that a batch fits into, or None."""
        fitting = (s for s in self.shapes if s.rows >= rows and s.length >= length)
        return next(fitting, None)

    def compile(self, shape):
        """Compiles a shape, unless XLA has failed before. Returns whether it is compiled."""
        if self.failed or shape in self.ready:
            return not self.failed
        started = time.perf_counter()
        try:
            self.compile_shape(shape)
        except Exception as error:  # for example, a TensorFlow without XLA
            self.failed = True
            message = str(error).strip().partition("\n")[0]
            logging.warning("XLA cannot compile the search, which stays slower: %s", message)
            return False
        self.ready = self.ready | {shape}  # a new set: other threads may be reading the old one
        logging.info(
            "XLA compiled the search for %d × %d source tokens in %.1f s, because it is faster for "
            "few sentences",
            *shape,
            time.perf_counter() - started,
        )
        return True

    def add_seconds(self, shape, seconds):
        """Counts time without XLA, and compiles the shape once compilation pays."""
        self.seconds[shape] += seconds
        if self.seconds[shape] >= self.pays_after:
            self.compile(shape)


def rows_for(count):
    """Returns the smallest number of rows of a shape for this number of sentences, or None."""
    return next((rows for rows in ROWS if rows >= count), None)


def fill(source, shape):
    """Pads source ids to a shape. Added rows repeat the first one, so they add no steps."""
    rows, length = source.shape
    filled = np.full(shape, PADDING, "int32")
    filled[:rows, :length] = source
    filled[rows:] = filled[0]
    return filled
