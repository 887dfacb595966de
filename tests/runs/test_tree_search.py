"""Runs that write trees, whatever their weights; tables of vocabularies that write trees."""

import copy

import numpy as np
import pytest
import tensorflow as tf
from support.runs.untrained import tiny_experiment
from support.runs.untrained_parser import TREES, untrained_parser
from support.text.tree_tokenizer import PIECES, TOKENIZER, TreeTokenizer

from pipelines.text.treebank import parse, repair
from t2t_keras.decoding.tree_constraint import CLOSING, CONTINUATION, OPENING, OTHER, WORD_START
from t2t_keras.runs import load_translator
from t2t_keras.runs.parsing import gold_words
from t2t_keras.runs.training.train import train
from t2t_keras.runs.tree_search import tree_vocabulary
from t2t_keras.translating.engines.saved_model import SavedModelEngine
from t2t_keras.translating.translator import Translator

SENTENCES = [" ".join(gold_words(parse(tree))) for tree in TREES]


@pytest.fixture(scope="module")
def parsers(tmp_path_factory):
    """A run and its treebank for each kind of leaf."""
    folder = tmp_path_factory.mktemp("parsers")
    return {leaves: untrained_parser(folder / leaves, leaves) for leaves in ("word", "XX", "tag")}


@pytest.mark.long
@pytest.mark.parametrize(("leaves", "beam"), [("word", 3), ("XX", 1), ("tag", 2)])
def test_no_tree_has_to_be_repaired(parsers, leaves, beam):
    run, treebank = parsers[leaves]
    free = run.evaluate_parses(treebank, beam=1)
    trees = run.evaluate_parses(treebank, beam=beam, constrain="tree")
    assert free.repaired[0] >= 3 and trees.repaired == [0, 0]
    assert [parse(tree).words() for tree in trees.parses] == [each.split() for each in SENTENCES]
    assert trees.scores[0].failed == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "settings"), [(1, {"method": "sample", "n_best": 2}), (2, {"beam": 2, "n_best": 2})]
)
def test_samples_and_ensembles_write_trees(parsers, count, settings):
    translator = load_translator(*[parsers["word"][0].folder] * count)
    results = translator.translations(SENTENCES, constrain="tree", **settings)
    for sentence, trees in zip(SENTENCES, results, strict=True):
        assert trees
        for tree in trees:
            assert repair(sentence.split(), tree.text.split(), "word")[1]


@pytest.mark.long
def test_an_export_writes_the_trees_of_its_run_and_takes_no_prefixes(parsers):
    run, _ = parsers["word"]
    exported = Translator(SavedModelEngine(run.export(constrain="tree", beam=2, n_best=2)))
    assert exported.engine.config.constrain == "tree" and exported.engine.split == "off"
    for settings in ({}, {"beam": 1}):  # the search as exported, and one with options
        expected = run.translate(SENTENCES, constrain="tree", **({"beam": 2} | settings))
        assert exported.translate(SENTENCES, **settings) == expected
    message = "constrain='tree' takes neither prefixes nor required phrases"
    with pytest.raises(ValueError, match=message):
        run.translate(["the dog"], constrain="tree", require=[["dog"]])
    with pytest.raises(ValueError, match=message):
        exported.translate(["the dog"], prefix="(S")
    options = {"alpha": tf.constant([0.6]), "no_repeat_ngram": tf.constant([0])}
    options |= {name: tf.constant([2]) for name in ("beam", "n_best")}
    options |= {"text": tf.constant(["the dog"]), "prefix": tf.constant(["(S"])}
    with pytest.raises(tf.errors.InvalidArgumentError, match="`prefix` must be empty"):
        exported.engine.signatures["translate_with_options"](**options)


def test_a_training_without_trees_is_refused_at_its_start(tmp_path):
    experiment = tiny_experiment(toy_pairs=200)
    experiment.search.constrain = "tree"
    with pytest.raises(ValueError, match="was not trained on trees"):
        train(experiment, tmp_path / "run")


def test_pieces_have_classes_and_brackets_have_partners():
    table = tree_vocabulary(TOKENIZER, "XX")
    texts = [WORD_START, WORD_START, CONTINUATION, WORD_START]
    assert table.classes.tolist() == [OTHER] * 4 + ([OPENING, CLOSING] * 2) + texts
    assert table.closings[[4, 6]].tolist() == [5, 7] and np.count_nonzero(table.closings) == 2
    assert table.placeholder == (11,)


def test_pieces_with_brackets_that_are_none_are_no_text():
    # An opening bracket without partner, one inside a word, a space, and a byte.
    tokenizer = TreeTokenizer([*PIECES, " (C", "(A", " ", "x"])
    tokenizer.byte_ids = (15,)
    table = tree_vocabulary(tokenizer, "tag")
    assert table.classes[12:].tolist() == [OTHER] * 4
    assert table.written[[4, 5, 8, 12, 13]].tolist() == [3, 3, 8, 3, 3]


def test_vocabularies_that_cannot_write_trees_are_refused():
    tokenizer = TreeTokenizer([*PIECES[:4], " (A", " )B", " XX"])
    with pytest.raises(ValueError, match=r"needs a vocabulary of trees, with a piece for each"):
        tree_vocabulary(tokenizer, "XX")
    tokenizer = copy.copy(TOKENIZER)
    tokenizer.source = TreeTokenizer(PIECES[:8])
    with pytest.raises(ValueError, match="needs one vocabulary for both sides"):
        tree_vocabulary(tokenizer, "word")
    assert len(tree_vocabulary(tokenizer, "XX").begins_word) == 8
