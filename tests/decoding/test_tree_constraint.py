"""Search for trees, compared with all trees over the words of a source."""

import functools
import itertools

import numpy as np
import pytest
from keras import ops
from support.models.helpers import array
from support.models.table_model import END, TableModel, found, padded
from support.text.tree_tokenizer import TOKENIZER, text_of

from pipelines.text import treebank
from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.sampling import draws_of
from t2t_keras.decoding.search import method_of, search
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.decoding.tree_constraint import DEEPEST, OPENING, SURPRISE, TreeConstraint
from t2t_keras.ops import on_numpy
from t2t_keras.runs.tree_search import tree_vocabulary

# Ids of `TOKENIZER`.
OPEN_A, CLOSE_A, OPEN_B, CLOSE_B, A, B, MORE, XX = range(4, 12)
SIZE = 12
SOURCE = [A, B, MORE]  # two words: "a", "bc"
LEAVES = {"word": [(A,), (B, MORE)], "XX": [(XX,), (XX,)], "tag": [(A,), (B,)]}


@functools.cache
def constraint(leaves):
    return TreeConstraint(tree_vocabulary(TOKENIZER, leaves))


def constituents(leaves, room):
    """Yields all constituents of at most `room` tokens with these leaves."""
    for opening, closing in ((OPEN_A, CLOSE_A), (OPEN_B, CLOSE_B)):
        for children in sequences(leaves, room - 2):
            yield (opening, *children, closing)


def sequences(leaves, room):
    """Yields all sequences of constituents and leaves with these leaves."""
    if sum(map(len, leaves)) > room:
        return
    for count in range(1, len(leaves) + 1):
        first, rest = leaves[:count], leaves[count:]
        for child in itertools.chain(first if count == 1 else [], constituents(first, room)):
            if not rest:
                yield child
            for others in sequences(rest, room - len(child)):
                yield child + others


def all_trees(kind, limit):
    """Returns all trees over the words of `SOURCE` with their ends, of at most `limit` tokens."""
    choices = [LEAVES[kind]]
    if kind == "tag":  # any piece that begins a word, then any number of others
        starts, more = (A, B, XX), range(limit)
        tags = [(start, *[MORE] * count) for start in starts for count in more]
        choices = itertools.product(tags, repeat=2)
    return [(*each, END) for leaves in choices for each in constituents(list(leaves), limit - 1)]


def allowed_tokens(trees, source, tokens, position, limit):
    """Returns which tokens may come next, for one sentence: `[hypotheses, vocabulary]`."""
    logits = np.zeros((*tokens.shape[:2], SIZE), "float32")
    with on_numpy():
        leaves = trees.leaves_of(np.array([source]))
        logits = trees.constrained(logits, leaves, tokens, position, np.array([limit]))
    return np.isfinite(logits[0])


def score_of(model, tokens, kind, alpha=0.6):
    """Returns the score of a tree: log P of its brackets, and of its leaves as they count."""
    if kind == "tag":
        return model.score(tokens, alpha)
    texts, log_p = [3, A, B, MORE, XX], 0.0
    for position, (last, token) in enumerate(zip((1, *tokens[:-1]), tokens, strict=True)):
        row = model.log_p[position, last]
        if token in texts and token != MORE:
            log_p += max(row[token], np.log(np.exp(row[texts]).sum()) - SURPRISE)
        elif token != MORE:
            log_p += row[token]
    return log_p / ((5 + len(tokens)) / 6) ** alpha


@pytest.mark.parametrize("kind", LEAVES)
def test_exactly_the_tokens_that_continue_a_tree_are_allowed(kind):
    limit, following = 8, {}
    for tree in all_trees(kind, limit):
        for position in range(len(tree)):
            following.setdefault(tree[:position], set()).add(tree[position])
    for position in sorted({len(prefix) for prefix in following}):
        prefixes = [prefix for prefix in following if len(prefix) == position]
        tokens = np.zeros((1, len(prefixes), limit), "int32")
        tokens[0, :, :position] = np.reshape(prefixes, (len(prefixes), position))
        allowed = allowed_tokens(constraint(kind), [*SOURCE, END, 0], tokens, position, limit)
        for prefix, row in zip(prefixes, allowed, strict=True):
            assert set(np.flatnonzero(row).tolist()) == following[prefix], prefix


def test_the_leaves_are_the_pieces_of_the_source():
    sources = [[*SOURCE, END], [XX, END], [OPEN_A, MORE, A, END], [END]]
    leaves = constraint("word").leaves_of(ops.array(padded(sources)))
    # A bracket in the source would not be a leaf: it is written as the unknown piece.
    expected = [[A, B, MORE, 0], [XX, 0, 0, 0], [3, MORE, A, 0], [0, 0, 0, 0]]
    assert array(leaves.pieces).tolist() == expected
    starts = array(leaves.starts).astype(bool)
    assert starts.sum(axis=1).tolist() == [2, 1, 2, 0] and starts[0, :2].all()
    leaves = constraint("XX").leaves_of(ops.array(padded(sources)))
    assert (array(leaves.pieces) == XX).sum(axis=1).tolist() == [2, 1, 2, 0]


def search_trees(model, sources, kind, room=24, extra_length=2, **settings):
    """Returns (score, tokens) of each hypothesis of each source, as `search_table` does."""
    config = SearchConfig(extra_length=extra_length, constrain="tree", **settings)
    config.validate()
    extras = {}
    if config.method == "sample":
        extras["draws"] = draws_of(range(len(sources)), room, config)
    source = padded([[*source, END] for source in sources])
    return found(*numpy_search(method_of(model, config, constraint(kind)), source, room, extras))


@pytest.mark.parametrize(
    ("kind", "limit", "beam"), [("word", 10, 80), ("XX", 9, 80), ("tag", 8, 150)]
)
def test_a_wide_enough_beam_finds_the_best_of_all_trees(kind, limit, beam):
    model, extra = TableModel(3, SIZE), limit - len(SOURCE) - 1
    (results,) = search_trees(model, [SOURCE], kind, extra_length=extra, beam=beam, n_best=3)
    expected = sorted(
        ((score_of(model, each, kind), each) for each in all_trees(kind, limit)), reverse=True
    )
    assert len(expected) > 60
    assert [tokens for _, tokens in results] == [tokens for _, tokens in expected[:3]]
    np.testing.assert_allclose([s for s, _ in results], [s for s, _ in expected[:3]], atol=1e-4)


SOURCES = [[A], SOURCE, [B, A, A, MORE, MORE, XX], [XX] * 7, [A, B] * 4]
SEARCHES = {"beam": 1}, {"beam": 4, "n_best": 4}, {"method": "sample", "n_best": 3}


@pytest.mark.parametrize("kind", LEAVES)
def test_every_output_of_a_random_model_is_a_tree_with_the_score_of_its_tokens(kind):
    for seed, settings in enumerate([*SEARCHES] * 2):
        model = TableModel(seed, SIZE)
        results = search_trees(model, SOURCES, kind, extra_length=9, **settings)
        for source, hypotheses in zip(SOURCES, results, strict=True):
            assert hypotheses
            words = text_of(source).split()
            for score, tokens in hypotheses:
                assert tokens[-1] == END and len(tokens) <= len(source) + 10
                _, exact = treebank.repair(words, text_of(tokens).split(), kind)
                assert exact, (words, text_of(tokens))
                assert score == pytest.approx(score_of(model, tokens, kind), abs=1e-4)


@pytest.mark.long
def test_the_search_with_keras_finds_the_same():
    model, source = TableModel(4, SIZE), padded([[*each, END] for each in SOURCES])
    config = SearchConfig(constrain="tree", n_best=2, extra_length=9)
    results = found(*search(model, ops.array(source), 24, config, trees=constraint("word")))
    expected = search_trees(model, SOURCES, "word", extra_length=9, n_best=2)
    for ours, theirs in zip(results, expected, strict=True):
        assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]


@pytest.mark.parametrize("beam", [1, 3])
def test_a_limit_that_is_too_low_is_raised_and_no_words_are_an_empty_output(beam):
    results = search_trees(TableModel(0, SIZE), [[A] * 6, []], "word", beam=beam, extra_length=0)
    ((_, tokens), *_), empty = results
    assert len(tokens) == 9 and tokens[1:7] == (A,) * 6
    assert [tokens for _, tokens in empty] == [(END,)]


def test_without_room_for_a_tree_its_beginning_is_written():
    ((_, tokens), *_), *_ = search_trees(TableModel(0, SIZE), [[A] * 6], "word", room=5, beam=3)
    assert tokens[0] in (OPEN_A, OPEN_B) and tokens[1:] == (A,) * 4


def test_no_tree_is_deeper_than_those_that_can_be_read():
    assert DEEPEST == treebank.DEEPEST - 1  # a leaf is one level deeper than its constituent
    for depth in (DEEPEST - 1, DEEPEST):
        tokens = np.full((1, 1, depth), OPEN_A, "int32")
        (allowed,) = allowed_tokens(constraint("word"), [A, END], tokens, depth, limit=2000)
        assert allowed[OPEN_B] == (depth < DEEPEST) and allowed[A]


def test_a_model_may_have_more_ids_than_its_vocabulary():
    results = search_trees(TableModel(5, SIZE + 3), SOURCES, "word", beam=2, extra_length=9)
    assert all(max(tokens) < SIZE for hypotheses in results for _, tokens in hypotheses)
    assert constraint("word").vocabulary.classes[OPEN_A] == OPENING


def test_a_constraint_and_its_setting_need_each_other():
    for settings, trees in (({"constrain": "tree"}, None), ({}, constraint("word"))):
        with pytest.raises(ValueError, match="constrain='tree' needs `trees`, a TreeConstraint"):
            method_of(TableModel(0), SearchConfig(**settings), trees)


def test_trees_cannot_contain_required_phrases():
    config, source = SearchConfig(constrain="tree"), ops.array([[A, END]])
    with pytest.raises(ValueError, match="`constrain` must be left out if phrases are required"):
        search(TableModel(0), source, 9, config, phrases=[[[A]]], trees=constraint("word"))
