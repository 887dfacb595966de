"""Constraints, on given logits and in every kind of search."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops
from support.models.helpers import array
from support.models.searches import SOURCE, model_that_ends, run_search, scores_of, set_bias

from t2t_keras.decoding.constraints import next_tokens, repeats_ngram, without_repeats
from t2t_keras.decoding.search_config import SearchConfig

LOGITS = np.random.default_rng(0).normal(size=(2, 3, 12)).astype("float32")
LOGITS[..., :2] = 9  # the likeliest ones are padding and begin, which are never allowed
LOG_P = LOGITS - np.log(np.exp(LOGITS.astype("float64")).sum(-1, keepdims=True))
TOKENS = np.array([[[5, 6, 5], [7, 8, 9], [3, 3, 3]], [[4, 5, 6], [6, 6, 7], [9, 8, 9]]], "int32")


def allowed_tokens(position=3, prefix=None, **settings):
    """Returns the ids that may come next, as sets; checks that they have the model's log P."""
    tokens = ops.array(
        np.where(np.arange(5) < position, np.pad(TOKENS, [(0, 0), (0, 0), (0, 2)]), 0)
    )
    prefix = None if prefix is None else ops.array(prefix)
    config = SearchConfig(**settings)
    log_p, ids = next_tokens(ops.array(LOGITS), 12, tokens, ops.array(position), config, prefix)
    log_p, ids = array(log_p), array(ids).astype("int32")
    expected = np.take_along_axis(LOG_P, ids, axis=-1)
    np.testing.assert_allclose(log_p[np.isfinite(log_p)], expected[np.isfinite(log_p)], atol=1e-5)
    return [
        [set(row[np.isfinite(p)].tolist()) for row, p in zip(rows, ps, strict=True)]
        for rows, ps in zip(ids, log_p, strict=True)
    ]


ALL = set(range(2, 12))


def test_padding_and_begin_are_never_allowed():
    assert allowed_tokens() == [[ALL] * 3] * 2


def test_banned_tokens_are_not_allowed():
    assert allowed_tokens(banned=(4, 11)) == [[ALL - {4, 11}] * 3] * 2


def test_only_some_tokens_may_come_first():
    assert allowed_tokens(position=0, first=(7, 9)) == [[{7, 9}] * 3] * 2
    assert allowed_tokens(position=1, first=(7, 9)) == [[ALL] * 3] * 2


def test_a_prefix_allows_one_token_up_to_its_end():
    prefix = np.array([[5, 6, 7, 8], [9, 0, 0, 0]], "int32")
    assert allowed_tokens(prefix=prefix) == [[{8}] * 3, [ALL] * 3]
    assert allowed_tokens(position=0, prefix=prefix) == [[{5}] * 3, [{9}] * 3]
    assert allowed_tokens(position=3, prefix=prefix[:, :2]) == [[ALL] * 3] * 2


def test_a_prefix_takes_precedence_over_other_constraints():
    prefix = np.array([[5, 6, 7, 8], [9, 0, 0, 0]], "int32")
    assert allowed_tokens(prefix=prefix, banned=(8,)) == [[{8}] * 3, [ALL - {8}] * 3]


def test_a_token_that_repeats_an_ngram_is_not_allowed():
    assert allowed_tokens(no_repeat_ngram=2) == [
        [ALL - {6}, ALL, ALL - {3}],
        [ALL, ALL, ALL - {8}],
    ]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_repeated_ngrams_are_those_found_by_comparing_all(n):
    tokens = np.random.default_rng(n).integers(2, 5, (2, 3, 9)).astype("int32")
    for position in (0, 1, 4, 9):
        marks = array(repeats_ngram(ops.array(tokens), ops.array(position), n, 6))
        for row, mark in zip(tokens.reshape(6, 9), marks.reshape(6, 6), strict=True):
            written = row[:position].tolist()
            known = {tuple(written[i : i + n]) for i in range(position - n + 1)}
            newest = tuple(written[position - n + 1 :]) if n > 1 else ()
            expected = [(*newest, token) in known for token in range(2, 6)]
            assert mark[2:].astype(bool).tolist() == expected


def test_each_sentence_has_its_own_length_of_ngrams():
    tokens = np.random.default_rng(1).integers(3, 6, (5, 2, 9)).astype("int32")
    for position in (0, 1, 4, 9):
        masked = without_repeats(
            ops.zeros((5, 2, 6)), ops.array(tokens), ops.array(position), ops.arange(5)
        )
        for n in range(1, 5):
            own = ops.array(tokens[n : n + 1])
            marks = array(repeats_ngram(own, ops.array(position), n, 6))[0]
            assert (np.isneginf(array(masked)[n])[:, 1:] == marks[:, 1:]).all(), "0 is padding"
        assert not np.isneginf(array(masked)[0][:, 1:]).any()
    unused = ops.array(np.full(5, 2**31 - 1, "int32"))
    masked = without_repeats(ops.zeros((5, 2, 6)), ops.array(tokens), ops.array(9), unused)
    assert not np.isneginf(array(masked)[..., 1:]).any(), "outputs are shorter"


SEARCHES = {"beam": {}, "sampling": {"method": "sample", "seed": 3}, "greedy": {"beam": 1}}
if keras.backend.backend() == "jax":  # compiling takes long; greedy search is a part of sampling
    del SEARCHES["greedy"]
PREFIX = np.array([[7, 8, 9], [10, 11, 0], [12, 0, 0], [0, 0, 0], [0, 0, 0]], "int32")
FIRST = (17, 23)


@pytest.fixture(scope="module", params=SEARCHES)
def outputs(request):
    """The best hypotheses of a search: unconstrained, and with all constraints at once."""
    model, settings = model_that_ends(num_layers=1), SEARCHES[request.param]
    set_bias(model, {0: 2.0, 1: 2.0, 2: -1.0, 5: 5.0, 6: 5.0})  # it tends to repeat 5 and 6
    free = run_search(model, **settings)[0][:, 0]
    banned = tuple(int(token) for token in np.unique(free) if token > 6)[:5]
    constraints = {"banned": banned, "first": FIRST, "no_repeat_ngram": 2}
    tokens, scores = run_search(model, prefix=PREFIX, **constraints, **settings)
    return model, banned, free, tokens[:, 0], scores[:, 0]


@pytest.mark.long
class TestEverySearch:
    def test_writes_neither_padding_nor_begin(self, outputs):
        *_, free, _, _ = outputs
        for row in free:
            length = (row > 0).sum()
            assert (row[:length] > 1).all() and length > 0

    def test_writes_no_banned_token(self, outputs):
        _, banned, free, tokens, _ = outputs
        assert np.isin(free, banned).any()
        assert not any(
            np.isin(row[(start > 0).sum() :], banned).any()
            for row, start in zip(tokens, PREFIX, strict=True)
        )

    def test_begins_with_a_first_token(self, outputs):
        *_, free, tokens, _ = outputs
        assert np.isin(tokens[3:, 0], FIRST).all() and not np.isin(free[3:, 0], FIRST).all()

    def test_begins_each_output_with_its_prefix(self, outputs):
        *_, free, tokens, _ = outputs
        for row, start in zip(tokens, PREFIX, strict=True):
            np.testing.assert_array_equal(row[: (start > 0).sum()], start[start > 0])
        assert not np.array_equal(free[0, :3], PREFIX[0])

    def test_repeats_no_ngram(self, outputs):
        *_, free, tokens, _ = outputs

        def repeats(row):
            pairs = list(itertools.pairwise(row[row > 0].tolist()))
            return len(pairs) - len(set(pairs))

        assert sum(map(repeats, free)) > 0 and sum(map(repeats, tokens)) == 0

    def test_has_the_scores_of_the_model(self, outputs):
        model, *_, tokens, scores = outputs
        np.testing.assert_allclose(scores, scores_of(model, SOURCE, tokens), rtol=1e-4)
