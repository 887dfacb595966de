"""Stages that XLA compiles find the same as `staged_search`, and finished sentences leave them.

Runs without XLA, which takes long to compile; tests/runs and test_saved_model.py compile stages.
"""

import numpy as np
import pytest
import tensorflow as tf
from searches import SOURCE, model_that_ends

from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export import compiled_stages as module
from t2t_keras.export.compiled_stages import compiled_stages
from t2t_keras.export.staged_search import staged_search

EXTRA = 14
SOURCES = SOURCE[[0, 1, 2, 1, 3, 4, 0]]  # seven rows, two of them repeated
SIZES = (2, 4, 8)


@pytest.fixture(autouse=True)
def without_xla():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


class Recorder:
    """A search method that records the rows and the unfinished sentences at each of its steps."""

    def __init__(self, method):
        self.method, self.steps = method, []

    def __getattr__(self, name):
        return getattr(self.method, name)

    def step(self, state):
        unfinished = int(tf.reduce_sum(tf.cast(self.method.unfinished(state), tf.int32)))
        self.steps.append((state.limits.shape[0], unfinished))
        return self.method.step(state)


@pytest.fixture(scope="module", params=[{"n_best": 3}, {"beam": 1}], ids=["beam 4", "greedy"])
def method(request):
    config = SearchConfig(extra_length=EXTRA, **request.param)
    return method_of(model_that_ends(seed=4, num_layers=1), config)


@pytest.fixture(scope="module")
def expected(method):
    results = staged_search(method, tf.constant(SOURCES))
    lengths = np.count_nonzero(results.tokens[:, 0], axis=-1)
    assert lengths.min() <= 2 < 16 < lengths.max(), "the sentences end at very different steps"
    return results


def check_equal(results, expected):
    np.testing.assert_array_equal(results.tokens, expected.tokens)
    np.testing.assert_allclose(results.scores, expected.scores, atol=2e-5)


@pytest.mark.long
def test_finished_sentences_leave_the_batch_as_soon_as_the_others_fit_into_fewer_rows(
    method, expected
):
    recorder = Recorder(method)
    check_equal(compiled_stages(recorder)(tf.constant(SOURCES), tf.constant(SIZES)), expected)
    assert all(min(s for s in SIZES if s >= going) == rows for rows, going in recorder.steps)
    assert {rows for rows, _ in recorder.steps} == {*SIZES}


@pytest.mark.long
def test_a_batch_keeps_its_rows_if_smaller_stages_are_not_compiled(method, expected):
    recorder = Recorder(method)
    check_equal(compiled_stages(recorder)(tf.constant(SOURCES), tf.constant([8])), expected)
    assert {rows for rows, _ in recorder.steps} == {8}
    assert recorder.steps[-1][1] <= 2


@pytest.mark.long
def test_sentences_that_outgrow_the_room_continue_without_padded_rows(
    method, expected, monkeypatch
):
    monkeypatch.setattr(module, "ROOM", 4)
    recorder, room = Recorder(method), SOURCES.shape[1] + 4
    check_equal(compiled_stages(recorder)(tf.constant(SOURCES), tf.constant(SIZES)), expected)
    compiled, later = recorder.steps[:room], recorder.steps[room:]
    assert {rows for rows, _ in compiled} <= {*SIZES}
    rows = compiled[-1][1]
    assert later and rows not in SIZES and later[0][0] <= rows


@pytest.mark.long
def test_padding_changes_nothing(method, expected):
    padded = tf.pad(SOURCES, [(0, 0), (0, 10)])
    check_equal(compiled_stages(method)(padded, tf.constant(SIZES)), expected)


@pytest.mark.long
def test_outputs_are_not_longer_than_the_learned_positions():
    model = model_that_ends(num_layers=1, end=-9.0, positions="learned", max_length=9)
    method = method_of(model, SearchConfig(extra_length=EXTRA))
    source, sizes = tf.constant(SOURCES), tf.constant(SIZES)
    expected = staged_search(method, source, model.longest)
    assert expected.tokens.shape[2] == 9
    check_equal(compiled_stages(method, model.longest)(source, sizes), expected)


def test_a_call_without_sentences_meets_the_smallest_shape_and_takes_no_step(method):
    sizes = []

    class Sizes(Recorder):
        def unfinished(self, state):
            sizes.append(state.limits.shape[0])
            return self.method.unfinished(state)

    recorder = Sizes(method)
    tokens, scores = compiled_stages(recorder)(tf.zeros([0, 6], tf.int32), tf.constant([4, 8]))
    assert {*sizes} == {4} and not recorder.steps
    assert tokens.shape[0] == scores.shape[0] == 0
