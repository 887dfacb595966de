"""Constraints on given logits."""

from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops
from support.models.helpers import array

from t2t_keras.decoding.constraints import next_tokens, repeats_ngram
from t2t_keras.decoding.greedy import Greedy
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
    extras = {} if prefix is None else {"prefix": ops.array(prefix)}
    state = SimpleNamespace(position=ops.array(position), extras=extras)
    search = Greedy(None, SearchConfig(**settings))
    log_p, ids = next_tokens(search, ops.array(LOGITS), 12, tokens, state)
    log_p, ids = array(log_p), array(ids).astype("int32")
    expected = np.take_along_axis(LOG_P, ids, axis=-1)
    np.testing.assert_allclose(log_p[np.isfinite(log_p)], expected[np.isfinite(log_p)], atol=1e-5)
    return [
        [set(row[np.isfinite(p)].tolist()) for row, p in zip(rows, ps, strict=True)]
        for rows, ps in zip(ids, log_p, strict=True)
    ]


ALL = set(range(2, 12))


def test_padding_begin_and_banned_tokens_are_never_allowed():
    assert allowed_tokens() == [[ALL] * 3] * 2
    assert allowed_tokens(banned=(4, 11)) == [[ALL - {4, 11}] * 3] * 2


def test_only_some_tokens_may_come_first():
    assert allowed_tokens(position=0, first=(7, 9)) == [[{7, 9}] * 3] * 2
    assert allowed_tokens(position=1, first=(7, 9)) == [[ALL] * 3] * 2


def test_a_prefix_allows_one_token_up_to_its_end_whatever_else_is_forbidden():
    prefix = np.array([[5, 6, 7, 8], [9, 0, 0, 0]], "int32")
    assert allowed_tokens(prefix=prefix) == [[{8}] * 3, [ALL] * 3]
    assert allowed_tokens(position=0, prefix=prefix) == [[{5}] * 3, [{9}] * 3]
    assert allowed_tokens(position=3, prefix=prefix[:, :2]) == [[ALL] * 3] * 2
    assert allowed_tokens(prefix=prefix, banned=(8,)) == [[{8}] * 3, [ALL - {8}] * 3]


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
        found = array(repeats_ngram(ops.array(tokens), ops.array(position), ops.arange(5), 6))
        for n in range(1, 5):
            marks = array(repeats_ngram(ops.array(tokens[n : n + 1]), ops.array(position), n, 6))[0]
            assert (found[n][:, 1:] == marks[:, 1:]).all(), "0 is padding"
        assert not found[0][:, 1:].any()
    unused = ops.array(np.full(5, 2**31 - 1, "int32"))
    found = array(repeats_ngram(ops.array(tokens), ops.array(9), unused, 6))
    assert not found[..., 1:].any(), "outputs are shorter"
