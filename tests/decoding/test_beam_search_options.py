"""Each sentence of a batch gets the results of a search with its own options."""

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import compiled
from support.models.table_model import TableModel, found, padded, search_table

from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.search import advance
from t2t_keras.decoding.search_config import ROW_OPTIONS, SearchConfig

BEAM = 4
LIMITS = (3, 6, 12, 8, 12)
# A prefix may repeat n-grams that the rest must not.
PREFIXES = [(), (7, 9), (8, 8, 8), (), (7, 9, 11)]


def random_options(seed):
    """Returns options for each sentence, as arrays."""
    random = np.random.default_rng(seed)
    beam = random.integers(1, BEAM + 1, len(LIMITS))
    options = {
        "beam": beam,
        "n_best": random.integers(1, beam + 1),
        "alpha": random.choice([0.0, 0.6, 1.5], len(LIMITS)),
        "no_repeat_ngram": random.integers(0, 4, len(LIMITS)),
    }
    return {name: values.astype(ROW_OPTIONS[name]) for name, values in options.items()}


def inputs(seed):
    """Returns the source and the extras of a search with random options."""
    source = padded([[2] * limit for limit in LIMITS])
    return source, {"prefix": padded(PREFIXES), **random_options(seed)}


@pytest.mark.parametrize("seed", range(12))
def test_each_sentence_has_the_results_of_a_search_with_its_options(seed):
    model = TableModel(seed, 12, end=-99 if seed == 0 else 0)
    source, extras = inputs(seed)
    method = BeamSearch(model, SearchConfig(beam=BEAM, extra_length=0))
    for row, hypotheses in enumerate(found(*numpy_search(method, source, max(LIMITS), extras))):
        own = {name: extras[name][row].item() for name in ROW_OPTIONS}
        (expected,) = search_table(model, [LIMITS[row]], [PREFIXES[row]], **own)
        assert [tokens for _, tokens in hypotheses] == [tokens for _, tokens in expected]
        scores, expected_scores = ([score for score, _ in each] for each in (hypotheses, expected))
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-5)


@pytest.mark.jax
@pytest.mark.long
def test_the_search_with_keras_finds_the_same():
    method = BeamSearch(TableModel(3, 12), SearchConfig(beam=BEAM, extra_length=0))
    source, extras = inputs(seed=3)

    def search(source, extras):
        return method.hypotheses(advance(method, method.start(source, 12, 12, extras), 12))

    if keras.backend.backend() == "jax":  # eagerly, JAX compiles each operation
        search = compiled(search, xla=False)
    tensors = ops.array(source), {name: ops.array(values) for name, values in extras.items()}
    results, expected = found(*search(*tensors)), found(*numpy_search(method, source, 12, extras))
    for ours, theirs in zip(results, expected, strict=True):
        assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]


def test_sentences_with_phrases_have_the_results_of_a_search_with_their_options():
    model, follows = TableModel(6), np.ones(7, bool)
    options = {
        "n_best": np.array([1, 2, 3, 3], "int32"),
        "alpha": np.array([0.0, 2.0, 0.6, 1.0], "float32"),
    }
    phrases = np.array([[[5, 4], [6, 0]]] * 4, "int32")

    def hypotheses(extras=None, **settings):
        method = ConstrainedBeamSearch(model, SearchConfig(beam=3, **settings), follows)
        extras = {"phrases": phrases, **(extras or {})}
        return found(*numpy_search(method, padded([[2] * 4] * 4), 20, extras))

    for row, ours in enumerate(hypotheses(options)):
        theirs = hypotheses(**{name: values[row].item() for name, values in options.items()})[row]
        assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]
        scores, expected_scores = ([score for score, _ in each] for each in (ours, theirs))
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-5)
