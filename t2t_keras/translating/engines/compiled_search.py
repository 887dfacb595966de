"""A search that XLA compiles for small batches of frequent shapes."""

import time

import numpy as np

from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.decoding.shapes_to_compile import CompiledShapes, fill


class CompiledSearch:
    """A search of plain rows, without prefixes, phrases and options.

    Args:
        others: function that takes source ids of any shape and returns `Hypotheses`.
        small: function that takes source ids and returns tokens, scores, and whether all rows are
            finished; see `small_batch_search`.
        longest: maximum length of a source. None: no maximum.
        **options: `pays_after` and `in_background` of `CompiledShapes`.
    """

    def __init__(self, others, small, longest=None, **options):
        self.others, self.small = others, small
        self.shapes = CompiledShapes(self.compile, longest, **options)
        self.warm = False

    def __call__(self, source):
        shape = self.shapes.shape_for(*source.shape)
        if shape in self.shapes.ready:
            longest = max(each for each in self.shapes.ready if each.rows == shape.rows)
            for room in sorted({shape, longest}):
                if (hypotheses := self.by_one_program(source, room)) is not None:
                    return hypotheses
        started = time.perf_counter()
        hypotheses = self.others(source)
        if shape is not None and self.warm:  # the first call traces the graph
            self.shapes.add_seconds(shape, time.perf_counter() - started)
        self.warm = True
        return hypotheses

    def by_one_program(self, source, shape):
        """Returns the `Hypotheses`, or None if an output does not fit into the program's arrays."""
        *hypotheses, finished = self.small(fill(source, shape))
        return Hypotheses(*(part[: len(source)] for part in hypotheses)) if finished else None

    def compile(self, shape):
        self.small(np.ones(shape, "int32"))
