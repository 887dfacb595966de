import numpy as np
import pytest
import tensorflow as tf
from helpers import tiny_model
from searches import SOURCE, model_that_ends
from table_model import TableModel, found, padded, random_constraints, search_table
from untrained import QUICK

from t2t_keras.decoding.compiled_shapes import CompiledShapes, Shape, fill
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export import staged_search
from t2t_keras.translating.engines import search_graphs
from t2t_keras.translating.engines.search_graphs import (
    CpuSearch,
    compiled_search,
    longest_output,
    staged_graph,
)

TEXTS = ["The dog sleeps."] * 3 + ["", "The cat sleeps."]
LIMITS = (1, 2, 3, 4, 4)
PREFIX = np.array([[7, 8], [9, 0], [0, 0], [7, 0], [8, 8]])  # padded, and empty for one sentence


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [{"beam": 2, "n_best": 2}, {"method": "sample", "seed": 3, "top_k": 9}]
)
def test_the_graph_for_xla_and_the_graph_in_stages_find_the_same(settings):
    """Runs without XLA, which takes long to compile; tests/decoding compiles a search."""
    model, config = model_that_ends(num_layers=1), SearchConfig(extra_length=12, **settings)
    inputs = SOURCE, [4, 5, 6, 7, 9], PREFIX
    staged = staged_graph(model, config)(*inputs)
    tf.config.run_functions_eagerly(True)
    try:
        compiled = compiled_search(model, config)(*inputs)
    finally:
        tf.config.run_functions_eagerly(False)
    width = staged.tokens.shape[-1]
    np.testing.assert_array_equal(compiled.tokens[..., :width], staged.tokens)
    np.testing.assert_allclose(compiled.scores, staged.scores, atol=2e-5)
    tokens = np.asarray(staged.tokens)[:, 0]
    for row, prefix in zip(tokens, PREFIX, strict=True):
        count = (prefix > 0).sum()
        np.testing.assert_array_equal(row[:count], prefix[:count])


@pytest.fixture
def cpu_search():
    """Returns a function that makes a search, a list of the batches it leaves to the graph."""

    def make(rows, **settings):
        config = SearchConfig(extra_length=24, n_best=2)
        search = CpuSearch(model_that_ends(num_layers=1, **settings), config)
        search.shapes = CompiledShapes(search.compile, pays_after=0.0, rows=rows)
        by_graph, staged = [], search.staged
        search.staged = lambda *inputs: by_graph.append(inputs) or staged(*inputs)
        return search, by_graph, staged

    return make


def check_equal(found, expected):
    length = expected.tokens.shape[-1]
    np.testing.assert_array_equal(found.tokens[..., :length], expected.tokens)
    assert not np.any(found.tokens[..., length:])
    np.testing.assert_allclose(found.scores, expected.scores, atol=2e-5)


@pytest.mark.long
def test_small_batches_of_a_frequent_shape_are_searched_by_xla_with_the_same_results(cpu_search):
    search, by_graph, staged = cpu_search(rows=(4,))
    batches = [SOURCE[:3], SOURCE[1:2, :5], SOURCE[2:5, :4], SOURCE[3:]]
    expected = [staged(batch, range(len(batch))) for batch in batches]
    for batch in batches[:2]:  # the first call traces the graph, the second one pays
        search(batch, range(len(batch)))
    assert search.shapes.ready == {(4, 16)} and len(by_graph) == 2
    for batch, hypotheses in zip(batches, expected, strict=True):
        check_equal(search(batch, range(len(batch))), hypotheses)
    assert len(by_graph) == 2
    search(SOURCE, range(5))  # too many rows
    search(SOURCE[:2], range(2), PREFIX[:2])
    assert len(by_graph) == 4


@pytest.mark.long
def test_larger_batches_of_a_frequent_shape_are_searched_by_xla_in_stages(cpu_search, capfd):
    search, by_graph, staged = cpu_search(rows=(8, 16), seed=4)
    source = SOURCE[[0, 1, 2, 1, 3, 4, 0, 2, 2]]
    expected = staged(source, range(9))
    lengths = np.count_nonzero(expected.tokens[:, 0], axis=-1)
    assert lengths.min() <= 2 < 24 < lengths.max() and sum(lengths > 2) <= 8
    for _ in range(2):
        search(source, range(9))
    assert search.shapes.ready == {(8, 16), (16, 16)} and len(by_graph) == 2
    check_equal(search(source, range(9)), expected)
    check_equal(search(source[:6, :5], range(6)), staged(source[:6, :5], range(6)))
    assert len(by_graph) == 2
    assert "PredictCost" not in capfd.readouterr().err  # TensorFlow's optimizer knows all ranks


@pytest.mark.long
def test_a_batch_with_a_long_output_is_searched_again_in_stages():
    config = SearchConfig(extra_length=60)
    search = CpuSearch(model_that_ends(num_layers=1, end=-9.0), config)
    expected = search(SOURCE[:1], [0])
    shape = search.shapes.shape_for(*SOURCE[:1].shape)
    search.shapes.compile(shape)
    assert not search.small(fill(SOURCE[:1], shape))[-1]
    np.testing.assert_array_equal(search(SOURCE[:1], [0]).tokens, expected.tokens)
    search.shapes.compile(Shape(1, 64))
    search.staged = None  # no longer needed
    check_equal(search(SOURCE[:1], [0]), expected)


@pytest.mark.parametrize(("xla", "graph"), [(True, "compiled_search"), (False, "CpuSearch")])
def test_xla_is_used_where_training_uses_it(monkeypatch, xla, graph):
    monkeypatch.setattr(search_graphs, "choose_xla", lambda wanted: xla)
    monkeypatch.setattr(search_graphs, graph, lambda *arguments: "chosen")
    assert search_graphs.graph_search(None, SearchConfig()) == "chosen"


def test_an_output_may_be_longer_than_its_source_but_not_than_the_learned_positions():
    config = SearchConfig(extra_length=12)
    assert longest_output(tiny_model(num_layers=1), SOURCE, config) == 6 + 12
    model = tiny_model(num_layers=1, positions="learned", max_length=10)
    assert longest_output(model, SOURCE, config) == 10


@pytest.mark.long
def test_translations_begin_with_their_prefixes(run):
    translator = run.translator(n_best=1, **QUICK)
    prefixes = ["das mein", "", "die", "", "the"]
    results = translator.translate(TEXTS, prefixes=prefixes)
    for (best,), prefix in zip(results, prefixes, strict=True):
        assert best.text.startswith(prefix)
    assert results[1] != results[2] and results[3][0].text == ""
    assert results[1][0].text == translator.translate(TEXTS)[1][0].text


@pytest.mark.long
def test_a_sample_depends_on_the_index_of_its_line_alone(run):
    translator = run.translator(method="sample", n_best=2, extra_length=3)
    results = translator.translate(TEXTS)
    again = translator.translate(TEXTS[1:3], first_index=1)
    assert [[each.text for each in line] for line in results[1:3]] == [
        [each.text for each in line] for line in again
    ]
    assert len({each.text for line in results[:3] for each in line}) == 6


@pytest.mark.long
def test_the_search_in_stages_finds_what_random_constraints_allow(monkeypatch):
    monkeypatch.setattr(staged_search, "STAGE", 2)
    for seed, settings in enumerate([{"n_best": 3}, {"beam": 1}]):
        model, (constraints, prefixes) = TableModel(seed), random_constraints(seed, LIMITS)
        config = SearchConfig(extra_length=0, **constraints, **settings)
        inputs = padded([[2] * limit for limit in LIMITS]), range(len(LIMITS)), padded(prefixes)
        results = found(*staged_graph(model, config)(*inputs))
        assert all(results)
        expected = search_table(model, LIMITS, prefixes, **constraints, **settings)
        for hypotheses, sentence in zip(results, expected, strict=True):
            assert [each[1] for each in hypotheses] == [each[1] for each in sentence]
