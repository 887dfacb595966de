"""Small batches take a compiled shape if there is one."""

import numpy as np
import pytest

from t2t_keras.decoding import shapes_to_compile
from t2t_keras.decoding.rows import Hypotheses
from t2t_keras.decoding.shapes_to_compile import Shape
from t2t_keras.translating.engines.compiled_search import CompiledSearch

LONG, WIDE = 98, 99  # outputs that fit into no shape, and into one of 32 tokens
OTHERS = -1.0  # score of hypotheses of the search without XLA


class Searches:
    """The two searches: the best hypothesis is the source, and its score says which search it is.

    Attributes:
        calls: the shape of each batch of the search in one program.
    """

    def __init__(self, **options):
        self.calls = []
        self.search = CompiledSearch(self.others, self.small, **options)
        self.shapes = self.search.shapes

    def others(self, source):
        return self.found(source, OTHERS)

    def small(self, source):
        self.calls.append(source.shape)
        room = source.shape[1]
        finished = LONG not in source and not (WIDE in source and room < 32)
        return *self.found(source, float(room)), finished

    def found(self, source, score):
        return Hypotheses(np.asarray(source)[:, None], np.full((len(source), 1), score))

    def __call__(self, *lengths, first=5):
        """Returns the score of each row of a batch of sources with these lengths."""
        source = np.zeros((len(lengths), max(lengths)), "int32")
        for row, length in zip(source, lengths, strict=True):
            row[:length] = [first, *[7] * (length - 2), 2]
        hypotheses = self.search(source)
        found = hypotheses.tokens[:, 0, : source.shape[1]]
        np.testing.assert_array_equal(found, source)
        return hypotheses.scores[:, 0].tolist()


def test_only_batches_that_fit_into_a_compiled_shape_are_searched_by_it():
    search = Searches()
    assert search(3) == [OTHERS] and not search.calls
    for shape in (Shape(1, 32), Shape(1, 16), Shape(4, 16)):
        search.shapes.compile(shape)
    assert search.calls == [(1, 32), (1, 16), (4, 16)]
    assert search(3) == [16] and search(20) == [32]
    assert search(33) == [OTHERS] and search(3, first=LONG) == [OTHERS]
    assert search(3, 4, 5) == [16] * 3 and search.calls[-1] == (4, 16)
    assert search(3, 4, 5, 6, 7) == [OTHERS] * 5


def test_a_long_output_gets_the_room_of_the_longest_compiled_shape():
    search = Searches()
    for shape in (Shape(1, 16), Shape(2, 16), Shape(1, 32), Shape(1, 64)):
        search.shapes.compile(shape)
    search.calls.clear()
    assert search(3, first=WIDE) == [64] and search(3) == [16]
    assert search.calls == [(1, 16), (1, 64), (1, 16)]
    assert search(3, 4, first=WIDE) == [OTHERS] * 2


@pytest.mark.parametrize("in_background", [False, True])
def test_a_frequent_shape_is_compiled_unless_another_thread_does_it(in_background):
    search = Searches(pays_after=0.0, in_background=in_background, longest=40)
    search(3, 4)  # the first call traces the graph, so it does not count
    assert not search.shapes.seconds
    search(3, 4)
    assert search.shapes.ready == (set() if in_background else {(2, 16)})
    assert search.shapes.wanted() == ([(2, 16)] if in_background else [])
    search(3, 100)
    assert search.shapes.seconds.keys() == {(2, 16)}, "no shape for longer sources"
    assert max(shape.length for shape in search.shapes.shapes) == 32


def test_nothing_is_compiled_before_it_may_pay():
    search = Searches()
    for _ in range(3):
        search(3)
    assert not search.calls and 0 < search.shapes.seconds[1, 16] < 1
    search.shapes.seconds[1, 16] = shapes_to_compile.PAYS_AFTER
    search(3)
    assert search.calls == [(1, 16)]
