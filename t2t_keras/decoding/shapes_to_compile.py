"""Batch shapes for which XLA compiles the search.

On a CPU, a search with a small batch or a small model spends most of its time between small
operations. XLA fuses many of them, but takes seconds to compile each shape, so batches are padded
to one of a few shapes. A command compiles a shape once its searches without XLA have taken about as
long as a compilation. So little is lost if no more sentences follow, and much is gained if many do.
A server compiles earlier, because it compiles in the background, where no request waits.
"""

import collections
import time
from typing import NamedTuple

import numpy as np
from absl import logging

from t2t_keras.decoding.rows import PADDING

ROWS = (1, 2, 4)  # sentences in the batches that are compiled
LENGTHS = (16, 32, 64)  # source tokens in the batches that are compiled
ROOM = 16  # maximum tokens by which an output of a compiled search exceeds its padded source
PAYS_AFTER = 10.0  # seconds without XLA after which a shape is compiled; compilation takes 5 to 15
MOST_PADDING = 4  # maximum rows of a shape for each sentence in the batch
BACKGROUND = 0.1  # factor of `PAYS_AFTER` if another thread compiles


class Shape(NamedTuple):
    """A shape of source ids."""

    rows: int
    length: int


class CompiledShapes:
    """Tracks which shapes are compiled, and which are used often enough to be compiled.

    Args:
        compile_shape: function that takes a `Shape` and runs the compiled search on such a batch.
        longest: maximum length of a source. None: no maximum.
        pays_after: seconds without XLA after which a shape is compiled. None: `PAYS_AFTER`.
        in_background: only count seconds; another thread compiles the shapes that `wanted` returns.
    """

    def __init__(
        self,
        compile_shape,
        longest=None,
        pays_after=None,
        in_background=False,
    ):
        self.compile_shape, self.pays_after = compile_shape, pays_after
        self.in_background = in_background
        self.shapes = [
            Shape(count, length)
            for count in ROWS
            for length in LENGTHS
            if longest is None or length <= longest
        ]
        self.ready, self.failed = set(), False
        self.seconds = collections.Counter()  # {shape: seconds of its searches without XLA}

    def shape_for(self, rows, length):
        """Returns the smallest shape that a batch fits into, or None.

        A compiled shape is preferred to a smaller one that is not compiled, because it is faster.
        """
        fitting = [s for s in self.shapes if s.rows >= rows and s.length >= length]
        compiled = (s for s in fitting if s in self.ready and s.rows <= MOST_PADDING * rows)
        return next(compiled, next(iter(fitting), None))

    def compile(self, shape):
        """Compiles a shape, unless XLA has failed before; returns whether it is compiled."""
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
            "XLA compiled the search for %d × %d source tokens in %.1f s, because it is faster",
            *shape,
            time.perf_counter() - started,
        )
        return True

    def add_seconds(self, shape, seconds):
        """Adds the time of a search without XLA, and compiles the shape once that pays."""
        self.seconds[shape] += seconds
        if not self.in_background and self.pays(self.seconds[shape]):
            self.compile(shape)

    def pays(self, seconds):
        """Returns whether it pays to compile a shape after `seconds` without XLA."""
        default = PAYS_AFTER * BACKGROUND if self.in_background else PAYS_AFTER
        return seconds >= (default if self.pays_after is None else self.pays_after)

    def wanted(self):
        """Returns the shapes to compile next, those with the most search time first."""
        if self.failed:
            return []
        met = [shape for shape in self.shapes if shape in self.seconds and shape not in self.ready]
        paying = [shape for shape in met if self.pays(self.seconds[shape])]
        return sorted(paying, key=lambda shape: -self.seconds[shape])

    def expect(self, seconds):
        """Adds the expected time of searches without XLA, {shape: seconds}."""
        self.seconds.update(seconds)


def fill(source, shape):
    """Pads source ids to a shape. Added rows repeat the first one, so they add no steps."""
    rows, length = source.shape
    filled = np.full(shape, PADDING, "int32")
    filled[:rows, :length] = source
    filled[rows:] = filled[0]
    return filled
