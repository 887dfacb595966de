"""Small batches are padded to a few shapes, which XLA compiles once that pays."""

import numpy as np
import pytest
from absl import logging

from t2t_keras.decoding.shapes_to_compile import PAYS_AFTER, CompiledShapes, Shape, fill


@pytest.fixture
def compiled():
    return []


@pytest.fixture
def shapes(compiled):
    return CompiledShapes(compiled.append)


def test_a_batch_gets_the_smallest_shape_that_it_fits_into(shapes):
    assert shapes.shape_for(1, 16) == (1, 16)
    assert shapes.shape_for(1, 17) == (1, 32)
    assert shapes.shape_for(3, 8) == (4, 16)
    assert shapes.shape_for(4, 64) == (4, 64)
    assert shapes.shape_for(5, 8) is shapes.shape_for(1, 65) is None
    short = CompiledShapes(None, longest=40)  # as many as there are learned positions
    assert short.shape_for(1, 33) is None and short.shape_for(1, 32) == (1, 32)


def test_a_batch_gets_a_compiled_shape_even_if_a_smaller_one_would_do(shapes):
    def rows():
        return [shapes.shape_for(count, 16).rows for count in (1, 2, 3, 4)]

    assert rows() == [1, 2, 4, 4]
    shapes.compile(Shape(4, 16))
    assert rows() == [4, 4, 4, 4]
    assert shapes.shape_for(2, 17) == (2, 32)


def test_ids_are_padded_and_added_rows_repeat_the_first():
    filled = fill(np.array([[5, 2, 0], [6, 7, 2], [8, 2, 0]]), Shape(4, 5))
    assert filled.tolist() == [[5, 2, 0, 0, 0], [6, 7, 2, 0, 0], [8, 2, 0, 0, 0], [5, 2, 0, 0, 0]]


def test_a_shape_is_compiled_once_the_other_search_has_taken_long(shapes, compiled):
    shapes.add_seconds(Shape(1, 16), PAYS_AFTER / 2)
    shapes.add_seconds(Shape(1, 32), PAYS_AFTER / 2)
    assert not compiled and not shapes.ready
    shapes.add_seconds(Shape(1, 16), PAYS_AFTER / 2)
    shapes.add_seconds(Shape(1, 16), PAYS_AFTER)
    assert compiled == [(1, 16)] and shapes.ready == {(1, 16)}


def test_another_thread_gets_the_shapes_that_pay_most_frequent_first(compiled):
    shapes = CompiledShapes(compiled.append, in_background=True)
    for shape, seconds in (((1, 16), 0.9), ((2, 16), 2.0), ((4, 16), 0.5), ((4, 32), 7.0)):
        shapes.add_seconds(Shape(*shape), seconds)
    assert shapes.wanted() == [(4, 32), (2, 16)] and not compiled
    shapes.expect({Shape(1, 16): 9.0})
    shapes.compile(Shape(4, 32))
    assert shapes.wanted() == [(1, 16), (2, 16)]
    shapes.failed = True
    assert not shapes.wanted()


def test_after_a_failure_the_other_search_is_used_for_all_shapes(caplog):
    tried = []

    def fail(shape):
        tried.append(shape)
        raise RuntimeError("there is no XLA\nand more")

    shapes = CompiledShapes(fail)
    with caplog.at_level(logging.WARNING):
        assert not shapes.compile(Shape(1, 16)) and not shapes.compile(Shape(4, 32))
    assert tried == [(1, 16)] and not shapes.ready
    assert caplog.messages == ["XLA cannot compile the search, which stays slower: there is no XLA"]
