"""Runs that write trees, whatever their weights."""

import numpy as np
import pytest
import tensorflow as tf
from untrained import tiny_experiment
from untrained_parser import TREES, untrained_parser

from pipelines.treebank import parse, repair
from t2t_keras.decoding.batches import padded
from t2t_keras.decoding.search import method_of, search
from t2t_keras.decoding.special_ids import END
from t2t_keras.export.compiled_stages import compiled_stages
from t2t_keras.export.small_batch_search import small_batch_search
from t2t_keras.runs import RunEnsemble
from t2t_keras.runs.parsing import gold_words
from t2t_keras.runs.training import train
from t2t_keras.runs.tree_search import tree_constraint
from t2t_keras.translating.engines.saved_model_export import Export
from t2t_keras.translating.engines.search_graphs import compiled_search, staged_graph

SENTENCES = [" ".join(gold_words(parse(tree))) for tree in TREES]


@pytest.fixture(scope="module")
def parsers(tmp_path_factory):
    """A run and its treebank for each kind of leaf."""
    folder = tmp_path_factory.mktemp("parsers")
    return {leaves: untrained_parser(folder / leaves, leaves) for leaves in ("word", "XX", "tag")}


@pytest.mark.long
@pytest.mark.parametrize(("leaves", "beam"), [("word", 1), ("word", 3), ("XX", 3), ("tag", 2)])
def test_no_tree_has_to_be_repaired(parsers, leaves, beam):
    run, treebank = parsers[leaves]
    free = run.evaluate_parses(treebank, beam=beam)
    trees = run.evaluate_parses(treebank, beam=beam, constrain="tree")
    assert free.repaired[0] >= 3 and trees.repaired == [0, 0]
    assert [parse(tree).words() for tree in trees.parses] == [each.split() for each in SENTENCES]
    assert trees.scores[0].failed == 0


@pytest.mark.long
def test_samples_and_ensembles_write_trees(parsers):
    run, _ = parsers["word"]
    for writer, settings in (
        (run, {"method": "sample", "n_best": 2}),
        (RunEnsemble([run.folder] * 2), {"beam": 2, "n_best": 2}),
    ):
        for sentence, parses in zip(
            SENTENCES,
            writer.translator(constrain="tree", **settings).translate(SENTENCES),
            strict=True,
        ):
            assert parses
            for parse_of_it in parses:
                assert repair(sentence.split(), parse_of_it.text.split(), "word")[1]


@pytest.mark.long
def test_every_graph_of_the_search_finds_the_same_trees(parsers):
    run, _ = parsers["word"]
    config = run.search(beam=2, n_best=2, constrain="tree")
    model, trees = run.loaded(None), tree_constraint(run, config)
    source = padded([[*ids, END] for ids in run.tokenizer().source.encode(SENTENCES)])
    expected = search(model, source, 90, config, trees=trees)
    method = method_of(model, config, trees)
    staged = staged_graph(model, config, method)(source, None)
    tf.config.run_functions_eagerly(True)  # XLA takes long to compile
    try:
        results = [
            staged,
            compiled_search(model, config, trees)(source, None),
            compiled_stages(method)(source, [2, 8]),
        ]
        *small, finished = small_batch_search(method)(source)
    finally:
        tf.config.run_functions_eagerly(False)
    assert finished, "these trees are short"
    for tokens, scores in (*results, small):
        width = min(tokens.shape[-1], expected.tokens.shape[-1])
        np.testing.assert_array_equal(tokens[..., :width], expected.tokens[..., :width])
        np.testing.assert_allclose(scores, expected.scores, atol=2e-5)


@pytest.fixture(scope="module")
def export(parsers):
    """A parser with its export."""
    run, _ = parsers["word"]
    return run, Export(run.export(constrain="tree", beam=2, n_best=2))


@pytest.mark.long
def test_an_export_writes_the_trees_of_its_run(export):
    run, exported = export
    assert exported.config.constrain == "tree"
    for settings in ({}, {"beam": 1}):  # the search as exported, and one with options
        expected = run.translate(SENTENCES, constrain="tree", **({"beam": 2} | settings))
        ours = [best.text for best, *_ in exported.translate(SENTENCES, **settings)]
        assert ours == expected


@pytest.mark.long
def test_prefixes_and_phrases_are_refused_beside_trees(export):
    run, exported = export
    message = "constrain='tree' takes neither prefixes nor required phrases"
    with pytest.raises(ValueError, match=message):
        run.translator(constrain="tree").translate(["the dog"], prefixes=["(S"])
    with pytest.raises(ValueError, match=message):
        run.translate(["the dog"], constrain="tree", require=[["dog"]])
    with pytest.raises(ValueError, match=message):
        exported.translate(["the dog"], prefixes=["(S"])
    inputs = {"text": np.array([b"the dog"]), "prefix": np.array([b"(S"])}
    with pytest.raises(tf.errors.InvalidArgumentError, match="`prefix` must be empty"):
        exported.call("translate_with_options", inputs)


def test_a_run_that_was_not_trained_on_trees_is_refused(run):
    with pytest.raises(ValueError, match=r"cannot write trees .* was not trained on trees"):
        run.translate(["The dog sleeps."], constrain="tree")


def test_a_training_without_trees_is_refused_at_its_start(tmp_path):
    experiment = tiny_experiment(toy_pairs=200)
    experiment.search.constrain = "tree"
    with pytest.raises(ValueError, match="was not trained on trees"):
        train(experiment, tmp_path / "run")
