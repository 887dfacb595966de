import numpy as np
import pytest
import tensorflow as tf
from helpers import tiny_model
from searches import SOURCE, model_that_ends
from table_model import TableModel, found, padded, random_constraints, search_table

from t2t_keras.decoding.compiled_shapes import Shape, fill
from t2t_keras.decoding.rows import Rows
from t2t_keras.decoding.search import method_of
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export import staged_search
from t2t_keras.translating.engines import search_graphs
from t2t_keras.translating.engines.compiled_search import CompiledSearch
from t2t_keras.translating.engines.search_graphs import (
    compiled_search,
    graph_search,
    phrase_search,
    staged_graph,
)

LIMITS = (1, 2, 3, 4, 4)
PREFIX = np.array([[7, 8], [9, 0], [0, 0], [7, 0], [8, 8]])  # padded, and empty for one sentence


def staged(model, config):
    return staged_graph(model, config, method_of(model, config))


@pytest.mark.long
@pytest.mark.parametrize(
    "settings", [{"beam": 2, "n_best": 2}, {"method": "sample", "seed": 3, "top_k": 9}]
)
def test_the_graph_for_xla_and_the_graph_in_stages_find_the_same(settings):
    """Runs without XLA, which takes long to compile; tests/decoding compiles a search."""
    model, config = model_that_ends(num_layers=1), SearchConfig(extra_length=12, **settings)
    rows = Rows(SOURCE, [4, 5, 6, 7, 9], PREFIX)
    expected = staged(model, config)(rows)
    tf.config.run_functions_eagerly(True)
    try:
        compiled = compiled_search(model, config)(rows)
    finally:
        tf.config.run_functions_eagerly(False)
    width = expected.tokens.shape[-1]
    np.testing.assert_array_equal(compiled.tokens[..., :width], expected.tokens)
    np.testing.assert_allclose(compiled.scores, expected.scores, atol=2e-5)
    tokens = np.asarray(expected.tokens)[:, 0]
    for row, prefix in zip(tokens, PREFIX, strict=True):
        count = (prefix > 0).sum()
        np.testing.assert_array_equal(row[:count], prefix[:count])


@pytest.fixture
def on_cpu(monkeypatch):
    """Returns a function that makes a search, the list of batches that it searches in stages with
    one graph for all shapes, this graph, and the `CompiledSearch`."""
    made = []

    class Kept(CompiledSearch):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append(self)

    monkeypatch.setattr(search_graphs, "CompiledSearch", Kept)

    def make(pays_after=0.0, config=None, **settings):
        config = config or SearchConfig(extra_length=24, n_best=2)
        search = graph_search(model_that_ends(num_layers=1, **settings), config, pays_after)
        compiled, by_graph = made[-1], []
        others = compiled.others
        compiled.others = lambda source: by_graph.append(source) or others(source)
        return lambda source: search(Rows(source, None)), by_graph, others, compiled

    return make


def check_equal(found, expected):
    length = expected.tokens.shape[-1]
    np.testing.assert_array_equal(found.tokens[..., :length], expected.tokens)
    assert not np.any(found.tokens[..., length:])
    np.testing.assert_allclose(found.scores, expected.scores, atol=2e-5)


@pytest.mark.long
def test_small_batches_of_a_frequent_shape_are_searched_by_xla_with_the_same_results(on_cpu):
    search, by_graph, others, compiled = on_cpu()
    compiled.shapes.shapes = [shape for shape in compiled.shapes.shapes if shape.rows == 4]
    batches = [SOURCE[:3], SOURCE[1:2, :5], SOURCE[2:5, :4], SOURCE[3:]]
    expected = [others(batch) for batch in batches]
    for batch in batches[:2]:  # the first call traces the graph, the second one pays
        search(batch)
    assert compiled.shapes.ready == {(4, 16)} and len(by_graph) == 2
    for batch, hypotheses in zip(batches, expected, strict=True):
        check_equal(search(batch), hypotheses)
    assert len(by_graph) == 2
    search(SOURCE)  # too many rows
    assert len(by_graph) == 3


@pytest.mark.long
def test_larger_batches_of_a_frequent_shape_are_searched_by_xla_in_stages(on_cpu, capfd):
    search, by_graph, others, compiled = on_cpu(seed=4)
    source = SOURCE[[0, 1, 2, 1, 3, 4, 0, 2, 2]]
    expected = others(source)
    lengths = np.count_nonzero(expected.tokens[:, 0], axis=-1)
    assert lengths.min() <= 2 < 24 < lengths.max() and sum(lengths > 2) <= 8
    for _ in range(2):
        search(source)
    assert compiled.shapes.ready == {(8, 16), (16, 16)} and len(by_graph) == 2
    check_equal(search(source), expected)
    check_equal(search(source[:6, :5]), others(source[:6, :5]))
    assert len(by_graph) == 2
    assert "PredictCost" not in capfd.readouterr().err  # TensorFlow's optimizer knows all ranks


@pytest.mark.long
def test_a_batch_with_a_long_output_is_searched_again_in_stages(on_cpu):
    config = SearchConfig(extra_length=60)
    search, by_graph, others, compiled = on_cpu(None, config, end=-9.0)
    expected = others(SOURCE[:1])
    shape = compiled.shapes.shape_for(*SOURCE[:1].shape)
    compiled.shapes.compile(shape)
    assert not compiled.small(fill(SOURCE[:1], shape))[-1]
    check_equal(search(SOURCE[:1]), expected)
    assert len(by_graph) == 1
    compiled.shapes.compile(Shape(1, 64))
    check_equal(search(SOURCE[:1]), expected)
    assert len(by_graph) == 1, "no longer needed"


@pytest.mark.long
def test_rows_with_prefixes_are_searched_in_stages_without_compiling(on_cpu):
    model = model_that_ends(num_layers=1)
    config = SearchConfig(extra_length=12, beam=2)
    search, rows = graph_search(model, config, pays_after=0.0), Rows(SOURCE[:2], None, PREFIX[:2])
    expected = staged(model, config)(rows)
    for _ in range(3):
        check_equal(search(rows), expected)


@pytest.mark.parametrize("xla", [True, False])
def test_xla_is_used_where_training_uses_it(monkeypatch, xla):
    monkeypatch.setattr(search_graphs, "choose_xla", lambda wanted: xla)
    monkeypatch.setattr(search_graphs, "compiled_search", lambda *arguments: "compiled")
    monkeypatch.setattr(search_graphs, "staged_graph", lambda *arguments: "staged")
    config = SearchConfig(method="sample")
    search = search_graphs.graph_search(tiny_model(num_layers=1), config)
    assert search == ("compiled" if xla else "staged")


@pytest.mark.long
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_an_output_may_be_longer_than_its_source_but_not_than_the_learned_positions(positions):
    model = model_that_ends(num_layers=1, end=-99.0, positions=positions, max_length=10)
    config = SearchConfig(extra_length=12, beam=1)
    longest = 10 if positions == "learned" else 6 + 12
    assert staged(model, config)(Rows(SOURCE, None)).tokens.shape[-1] == longest
    follows = np.ones(40, bool)
    rows = Rows(SOURCE, None, phrases=np.array([[[7, 8]]] * 5, "int32"))
    tokens = np.asarray(phrase_search(model, config, follows)(rows).tokens)
    assert tokens.shape[-1] <= (10 if positions == "learned" else longest + 2)
    assert all("7, 8" in str(row[0].tolist()) for row in tokens)


@pytest.mark.long
def test_the_search_in_stages_finds_what_random_constraints_allow(monkeypatch):
    monkeypatch.setattr(staged_search, "STAGE", 2)
    for seed, settings in enumerate([{"n_best": 3}, {"beam": 1}]):
        model, (constraints, prefixes) = TableModel(seed), random_constraints(seed, LIMITS)
        config = SearchConfig(extra_length=0, **constraints, **settings)
        source = padded([[2] * limit for limit in LIMITS])
        results = found(*staged(model, config)(Rows(source, None, padded(prefixes))))
        assert all(results)
        expected = search_table(model, LIMITS, prefixes, **constraints, **settings)
        for hypotheses, sentence in zip(results, expected, strict=True):
            assert [each[1] for each in hypotheses] == [each[1] for each in sentence]
