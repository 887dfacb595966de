import numpy as np
import pytest
import tensorflow as tf
from support.models.searches import SOURCE, model_that_ends
from support.models.table_model import TableModel, found, padded, random_constraints, search_table

from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.rows import Rows
from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export import search_in_stages
from t2t_keras.translating.engines.model import graph_search

LIMITS = (1, 2, 3, 4, 4)
PREFIX = np.array([[7, 8], [9, 0], [0, 0], [7, 0], [8, 8]])  # padded, and empty for one sentence


def staged(model, config):
    return graph_search(model, config, method_of(model, config))


@pytest.mark.long
def test_the_graph_for_xla_and_the_graph_in_stages_find_the_same():
    """Runs without XLA, which takes long to compile; tests/decoding compiles a search."""
    config = SearchConfig(extra_length=12, method="sample", seed=3, top_k=9)
    model = model_that_ends(num_layers=1)
    rows = Rows(SOURCE, [4, 5, 6, 7, 9], PREFIX)
    expected = staged(model, config)(rows)
    tf.config.run_functions_eagerly(True)
    try:
        compiled = graph_search(model, config, method_of(model, config), xla=True)(rows)
    finally:
        tf.config.run_functions_eagerly(False)
    width = expected.tokens.shape[-1]
    np.testing.assert_array_equal(compiled.tokens[..., :width], expected.tokens)
    np.testing.assert_allclose(compiled.scores, expected.scores, atol=2e-5)
    tokens = np.asarray(expected.tokens)[:, 0]
    for row, prefix in zip(tokens, PREFIX, strict=True):
        count = (prefix > 0).sum()
        np.testing.assert_array_equal(row[:count], prefix[:count])


@pytest.mark.long
def test_an_output_may_be_longer_than_its_source_but_not_than_the_learned_positions():
    model = model_that_ends(num_layers=1, end=-99.0, positions="learned", max_length=10)
    config = SearchConfig(extra_length=12, beam=1)
    assert staged(model, config)(Rows(SOURCE, None)).tokens.shape[-1] == 10
    rows = Rows(SOURCE, None, phrases=np.array([[[7, 8]]] * 5, "int32"))
    method = ConstrainedBeamSearch(model, config, np.ones(40, bool))
    tokens = np.asarray(graph_search(model, config, method)(rows).tokens)
    assert tokens.shape[-1] <= 10
    assert all("7, 8" in str(row[0].tolist()) for row in tokens)


@pytest.mark.long
def test_the_search_in_stages_finds_what_random_constraints_allow(monkeypatch):
    monkeypatch.setattr(search_in_stages, "STAGE", 2)
    model, (constraints, prefixes) = TableModel(0), random_constraints(0, LIMITS)
    config = SearchConfig(extra_length=0, n_best=3, **constraints)
    source = padded([[2] * limit for limit in LIMITS])
    results = found(*staged(model, config)(Rows(source, None, padded(prefixes))))
    assert all(results)
    expected = search_table(model, LIMITS, prefixes, n_best=3, **constraints)
    for hypotheses, sentence in zip(results, expected, strict=True):
        assert [each[1] for each in hypotheses] == [each[1] for each in sentence]
