"""Each sentence of a batch gets the results of a search with its own options."""

import numpy as np
import pytest
from keras import ops
from support.models.helpers import array
from support.models.searches import SOURCE, as_graph, model_that_ends, run_search, set_bias
from support.models.table_model import TableModel, found, padded

from t2t_keras.decoding.beam_search_with_options import (
    BeamSearchWithOptions,
    ConstrainedBeamSearchWithOptions,
)
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.search import advance
from t2t_keras.decoding.search_config import ROW_OPTIONS, SearchConfig

LENGTH = 16
NONE = [0, 0, 0]
# A prefix may repeat n-grams that the rest must not.
PREFIXES = np.array([[7, 9, 0], NONE, [8, 8, 8], NONE, [7, 9, 11]], "int32")


def with_options(model, source, prefix, **options):
    """Returns the tokens and scores of each row's search; `options` have a value for each row."""
    method = BeamSearchWithOptions(model, SearchConfig(beam=4))
    extras = {name: np.array(values) for name, values in options.items()} | {"prefix": prefix}
    extras["alpha"] = extras["alpha"].astype("float32")

    @as_graph
    def search(source, extras):
        state = method.start(source, LENGTH, LENGTH, extras)
        return method.hypotheses(advance(method, state, LENGTH))

    inputs = ops.array(source), {name: ops.array(values) for name, values in extras.items()}
    return tuple(array(each) for each in search(*inputs))


@pytest.mark.jax
@pytest.mark.long
def test_each_row_has_the_results_of_a_search_with_its_options():
    model = model_that_ends(seed=2, end=4.0, num_layers=1)
    kinds = [(1, 1, 1.5, 0), (2, 2, 0.6, 2), (3, 1, 0.0, 1), (4, 4, 0.6, 3), (4, 4, 0.6, 0)]
    names = "beam", "n_best", "alpha", "no_repeat_ngram"
    columns = (np.repeat(each, len(SOURCE)) for each in zip(*kinds, strict=True))
    options = {
        name: each.astype(ROW_OPTIONS[name]) for name, each in zip(names, columns, strict=True)
    }
    rows, prefixes = (np.tile(each, (len(kinds), 1)) for each in (SOURCE, PREFIXES))
    tokens, scores = with_options(model, rows, prefixes, **options)
    lengths = (tokens[:, 0] > 0).sum(-1)
    assert lengths.min() < 8 < lengths.max() == LENGTH
    for index, kind in enumerate(kinds):
        settings, count = dict(zip(names, kind, strict=True)), kind[1]
        expected, expected_scores = run_search(model, SOURCE, LENGTH, PREFIXES, **settings)
        own = slice(index * len(SOURCE), (index + 1) * len(SOURCE))
        assert not np.isfinite(scores[own][:, count:]).any()
        exists = np.isfinite(expected_scores)[..., None]
        np.testing.assert_array_equal(tokens[own][:, :count] * exists, expected * exists)
        np.testing.assert_allclose(scores[own][:, :count], expected_scores, rtol=1e-4)


@pytest.mark.long
def test_rows_are_cut_off_at_their_limits_as_in_a_search_with_their_options():
    model = model_that_ends(num_layers=1)
    set_bias(model, {2: -100.0})  # no hypothesis ends
    options = {name: np.array([1, 3], "int32") for name in ("beam", "n_best")}
    options["no_repeat_ngram"] = np.zeros(2, "int32")
    tokens, scores = with_options(model, SOURCE[:2], PREFIXES[:2] * 0, alpha=[0.6] * 2, **options)
    for row, count in enumerate((1, 3)):
        settings = {"beam": count, "n_best": count}
        expected, expected_scores = run_search(model, SOURCE[:2], LENGTH, **settings)
        np.testing.assert_array_equal(tokens[row, :count], expected[row])
        np.testing.assert_allclose(scores[row, :count], expected_scores[row], rtol=1e-4)


@pytest.mark.long
def test_rows_with_phrases_have_the_results_of_a_search_with_their_options():
    model, beam = TableModel(6), 3
    follows, source = np.ones(7, bool), ops.array(padded([[2] * 4] * 4))
    phrases = ops.array(np.array([[[5, 4], [6, 0]]] * 4, "int32"))

    def hypotheses(method, **extras):
        state = method.start(source, 20, None, {"phrases": phrases, **extras})
        return found(*method.hypotheses(advance(method, state, 20)))

    kinds = [(1, 0.0), (2, 2.0), (3, 0.6), (3, 1.0)]
    n_best, alpha = (np.array(each) for each in zip(*kinds, strict=True))
    method = ConstrainedBeamSearchWithOptions(model, SearchConfig(beam=beam), follows)
    results = hypotheses(
        method, n_best=ops.array(n_best, "int32"), alpha=ops.array(alpha.astype("float32"))
    )
    for row, (count, exponent) in enumerate(kinds):
        config = SearchConfig(beam=beam, n_best=count, alpha=exponent)
        expected = hypotheses(ConstrainedBeamSearch(model, config, follows))[row]
        assert [tokens for _, tokens in results[row]] == [tokens for _, tokens in expected]
        scores, expected_scores = (
            [score for score, _ in each] for each in (results[row], expected)
        )
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-5)
