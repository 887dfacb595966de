"""The search on NumPy finds what the search with Keras finds."""

import contextlib

import numpy as np
import pytest
from keras import ops
from support.models.helpers import disturbed, tiny_model

from t2t_keras.decoding.beam_search_with_options import (
    BeamSearchWithOptions,
    ConstrainedBeamSearchWithOptions,
)
from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.rows import PADDING
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import method_of, search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.ops import THREAD, map_structure

LONGEST = 30
SOURCE = np.zeros((6, 9), "int32")
for row, length in enumerate((8, 1, 5, 3, 7, 2)):
    SOURCE[row, :length] = np.random.default_rng(row).integers(4, 50, length)
    SOURCE[row, length] = 2
PREFIX = np.zeros((6, 3), "int32")
PREFIX[1, :2], PREFIX[3, :1] = [7, 8], [9]
PHRASES = np.zeros((6, 2, 3), "int32")
PHRASES[0, 0, :2], PHRASES[2, 0, :1], PHRASES[2, 1] = [11, 12], [13], [14, 15, 16]


@contextlib.contextmanager
def on_keras():
    THREAD.on_numpy = False
    try:
        yield
    finally:
        THREAD.on_numpy = True


class Steps:
    """A Keras model behind NumPy arrays; counts the sentences of each step."""

    def __init__(self, model):
        self.model, self.longest, self.sentences = model, model.longest, []

    def start_decoding(self, source, max_length, beams=1):
        with on_keras():
            return self.model.start_decoding(ops.array(source), max_length, beams)

    def decode_step(self, tokens, position, cache, memory, visible=None):
        self.sentences.append(len(cache[0].keys))
        with on_keras():
            visible = visible if visible is None else ops.array(visible)
            arguments = ops.array(tokens), int(position), cache, memory, visible
            logits, cache = self.model.decode_step(*arguments)
            return ops.convert_to_numpy(logits), cache

    def extend_cache(self, cache, max_length, beams=1):
        with on_keras():
            return self.model.extend_cache(cache, max_length, beams)

    def chosen(self, memory, cache, rows):
        with on_keras():
            return map_structure(lambda x: ops.take(x, rows, axis=0), (memory, cache))


@pytest.fixture(scope="module")
def model():
    return disturbed(tiny_model(), 0.6)


def check_equal(found, expected):
    ours, theirs = found.tokens, np.array(expected.tokens)
    length = max(ours.shape[2], theirs.shape[2])
    ours, theirs = (np.pad(x, [(0, 0), (0, 0), (0, length - x.shape[2])]) for x in (ours, theirs))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(found.scores, np.array(expected.scores), atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "extras"),
    [
        ({}, {}),
        ({"beam": 1}, {}),
        pytest.param({"beam": 3, "n_best": 3, "no_repeat_ngram": 2}, {}, marks=pytest.mark.long),
        pytest.param(
            {"penalty": "marian", "early_stopping": False, "n_best": 2},
            {},
            marks=pytest.mark.long,
        ),
        ({"banned": (5, 6), "first": (10, 11, 12)}, {}),
        pytest.param({}, {"prefix": PREFIX}, marks=pytest.mark.long),
        pytest.param({"beam": 1}, {"prefix": PREFIX}, marks=pytest.mark.long),
        pytest.param({}, {"phrases": PHRASES}, marks=pytest.mark.long),
        ({}, {"phrases": PHRASES, "prefix": PREFIX}),
        ({"method": "sample", "n_best": 2, "top_k": 5}, {}),
        pytest.param({"method": "sample", "top_p": 0.7}, {}, marks=pytest.mark.long),
    ],
)
def test_it_finds_what_the_search_with_keras_finds(model, settings, extras):
    config = SearchConfig(**{"extra_length": 12} | settings)
    expected = search(model, SOURCE, LONGEST, config, **extras)
    method = (ConstrainedBeamSearch if "phrases" in extras else method_of)(Steps(model), config)
    extras = dict(extras)
    if config.method == "sample":
        extras["draws"] = draws_of(range(len(SOURCE)), LONGEST, config)
    check_equal(numpy_search(method, SOURCE, LONGEST, extras), expected)


@pytest.mark.long
@pytest.mark.parametrize("phrases", [False, True])
def test_each_row_has_its_options(model, phrases):
    config = SearchConfig(extra_length=12)
    options = {
        "beam": np.full(6, 4) if phrases else np.array([1, 2, 3, 4, 1, 4]),
        "n_best": np.array([1, 2, 3, 4, 1, 1]),
        "alpha": np.array([0.0, 0.6, 1.0, 0.2, 0.6, 0.6], "float32"),
        "no_repeat_ngram": np.array([0, 2, 0, 0, 1, 3]),
    }
    extras = options | {"prefix": np.pad(PREFIX, [(0, 0), (0, 1)])}
    extras |= {"phrases": PHRASES} if phrases else {}
    kind = ConstrainedBeamSearchWithOptions if phrases else BeamSearchWithOptions
    found = numpy_search(kind(Steps(model), config), SOURCE, LONGEST, extras)
    for row, source in enumerate(SOURCE):
        own = {name: values[row].item() for name, values in options.items()}
        given = {"prefix": PREFIX[row : row + 1]}
        given |= {"phrases": PHRASES[row : row + 1]} if phrases else {}
        alone = SearchConfig(**{"extra_length": 12} | own)
        tokens, scores = search(model, source[None], LONGEST, alone, **given)
        for rank in range(own["n_best"]):
            ours, theirs = found.tokens[row, rank], np.array(tokens)[0, rank]
            assert ours[ours != PADDING].tolist() == theirs[theirs != PADDING].tolist()
            assert found.scores[row, rank] == pytest.approx(float(scores[0, rank]), abs=1e-4)


def test_finished_sentences_leave_and_results_do_not_depend_on_company(model):
    steps = Steps(model)
    config = SearchConfig(extra_length=12)
    together = numpy_search(method_of(steps, config), SOURCE, LONGEST)
    assert steps.sentences[0] == 6 and steps.sentences[-1] <= 3
    for row, source in enumerate(SOURCE):
        alone = numpy_search(method_of(steps, config), source[None, : row + 4], LONGEST)
        if np.count_nonzero(source) <= row + 4:
            length = alone.tokens.shape[2]
            assert not together.tokens[row, 0, length:].any()
            np.testing.assert_array_equal(together.tokens[row, 0, :length], alone.tokens[0, 0])


def test_an_output_may_be_as_long_as_the_model_allows_and_no_longer(model):
    config = SearchConfig(extra_length=1000, banned=(), early_stopping=False)
    found = numpy_search(method_of(Steps(model), config), SOURCE[:2], 20)
    check_equal(found, search(model, SOURCE[:2], 20, config))
    assert found.tokens.shape[2] == 20


def test_no_rows_have_no_hypotheses(model):
    found = numpy_search(method_of(Steps(model), SearchConfig()), SOURCE[:0], LONGEST)
    assert found.tokens.shape[0] == found.scores.shape[0] == 0
