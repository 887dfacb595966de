"""The search on NumPy finds what the search with Keras finds."""

import keras
import numpy as np
import pytest
from support.models.helpers import array, compiled
from support.models.table_model import TableModel

from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import method_of, search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.decoding_cache import extended
from t2t_keras.ops import ops

LONGEST = 20
SOURCE = np.zeros((5, 7), "int32")
for row, length in enumerate((6, 1, 5, 3, 4)):
    SOURCE[row, :length] = np.random.default_rng(row).integers(4, 50, length)
    SOURCE[row, length] = 2
PREFIX = np.zeros((5, 3), "int32")
PREFIX[1, :2], PREFIX[3, :1] = [7, 8], [9]
PHRASES = np.zeros((5, 2, 3), "int32")
PHRASES[0, 0, :2], PHRASES[2, 0, :1], PHRASES[2, 1] = [11, 12], [13], [14, 15, 16]


class CachedModel(TableModel):
    """A model whose logits also depend on the source and on all visible tokens."""

    def __init__(self, seed):
        super().__init__(seed, vocabulary=50, end=1.0)
        random = np.random.default_rng(seed)
        self.weights, self.effects = random.normal(size=(2, 50)).astype("float32")

    def start_decoding(self, source, max_length, beams=1):
        memory = ops.sum(ops.take(self.weights, source), axis=1)
        return memory, ops.zeros((ops.shape(source)[0], max_length * beams), "int32")

    def extend_cache(self, cache, max_length, beams=1):
        return extended(cache, 1, max_length * beams)

    def decode_step(self, tokens, position, cache, memory, visible=None):
        logits, _ = super().decode_step(tokens, position, cache, memory)
        slots, rows = ops.arange(ops.shape(cache)[1]), ops.shape(memory)[0]
        beams = ops.shape(tokens)[0] // rows
        new = ops.take(ops.reshape(tokens, (rows, beams)), slots % beams, axis=1)
        cache = ops.where(slots // beams == position, new, cache)
        visible = slots <= position if visible is None else visible
        seen = ops.where(visible, ops.take(self.weights, cache)[:, None], 0.0)
        effect = ops.reshape(memory[:, None] + ops.sum(seen, axis=2), (-1, 1))
        return logits + effect * self.effects, cache


@pytest.mark.parametrize(
    ("settings", "extras"),
    [
        pytest.param({}, {}, marks=pytest.mark.jax),
        ({"beam": 1}, {"prefix": PREFIX}),
        ({"beam": 3, "n_best": 3, "no_repeat_ngram": 2, "banned": (5, 6)}, {"prefix": PREFIX}),
        pytest.param({}, {"phrases": PHRASES, "prefix": PREFIX}, marks=pytest.mark.jax),
        pytest.param(
            {"method": "sample", "n_best": 2, "top_k": 5, "first": (10, 11, 12)},
            {},
            marks=pytest.mark.jax,
        ),
    ],
    ids=["beam", "greedy", "constraints", "phrases", "sampling"],
)
def test_it_finds_what_the_search_with_keras_finds(settings, extras):
    model = CachedModel(0)
    config = SearchConfig(**{"extra_length": 14} | settings)

    def with_keras(source):
        return search(model, source, LONGEST, config, **extras)

    if keras.backend.backend() == "jax":  # eagerly, JAX compiles each operation
        with_keras = compiled(with_keras, xla=False)
    tokens, scores = with_keras(SOURCE)
    method = (ConstrainedBeamSearch if "phrases" in extras else method_of)(model, config)
    draws = {}
    if config.method == "sample":
        draws = {"draws": draws_of(range(len(SOURCE)), LONGEST, config)}
    found = numpy_search(method, SOURCE, LONGEST, draws or dict(extras))
    missing = LONGEST - found.tokens.shape[2]
    found_tokens = np.pad(found.tokens, [(0, 0), (0, 0), (0, missing)])
    np.testing.assert_array_equal(found_tokens, array(tokens))
    np.testing.assert_allclose(found.scores, array(scores), atol=1e-4)


@pytest.mark.parametrize("stopping", ["first", "patience"])
def test_a_search_that_stops_early_stops_in_company_too(stopping):
    config = SearchConfig(beam=3, n_best=3, extra_length=14, stopping=stopping)
    for seed in range(8):
        model = CachedModel(seed)
        alone = [numpy_search(method_of(model, config), row[None], LONGEST) for row in SOURCE]
        together = numpy_search(method_of(model, config), SOURCE, LONGEST)
        for found in (together.scores, array(search(model, SOURCE, LONGEST, config).scores)):
            expected = np.concatenate([each.scores for each in alone])
            np.testing.assert_allclose(found, expected, atol=1e-4)


class Counting(TableModel):
    """Counts the sentences of each step."""

    sentences = ()

    def decode_step(self, tokens, position, cache, memory, visible=None):
        self.sentences = *self.sentences, len(memory)
        return super().decode_step(tokens, position, cache, memory, visible)


def test_finished_sentences_leave_the_batch():
    model = Counting(0, end=-99.0)
    source = (np.arange(4) < np.array([[1], [2], [3], [4]])) * 2
    numpy_search(method_of(model, SearchConfig(beam=1, extra_length=0)), source)
    assert model.sentences == (4, 4, 2, 1)  # at most half of a batch has finished


def test_an_output_may_be_as_long_as_the_model_allows_and_no_longer():
    config = SearchConfig(extra_length=1000)
    found = numpy_search(method_of(TableModel(0, end=-99.0), config), SOURCE[:2], 20)
    assert ((found.tokens > 0).sum(axis=2) == 20).all()


def test_no_rows_have_no_hypotheses():
    found = numpy_search(method_of(TableModel(0), SearchConfig()), SOURCE[:0], LONGEST)
    assert found.tokens.shape[0] == found.scores.shape[0] == 0
