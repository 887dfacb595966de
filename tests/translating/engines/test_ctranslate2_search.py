"""Which hypotheses are selected from CTranslate2's lists, and when a longer list is requested."""

import types

import numpy as np
import pytest

from t2t_keras.decoding.rows import Rows
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine, PieceModel

PIECES = ["<pad>", "<s>", "</s>", "<unk>", *"abcdefgh"]
SOURCE = np.array([[4, 5, 2, 0], [4, 2, 0, 0]])  # limits with extra_length=1: 4 and 3


class Letters:
    """A vocabulary of special ids and letters."""

    size = len(PIECES)
    source = target = property(lambda self: self)

    def pieces(self, ids):
        return [PIECES[id] for id in ids]


class Listed:
    """Stands for CTranslate2: returns the hypotheses of a list, as long as limits permit.

    Log P of a prefix is −1 for each token, and not part of that of a hypothesis.

    Args:
        hypotheses: {source: [(log P, text after the prefix), …]}; "." stands for the end.
    """

    def __init__(self, hypotheses):
        self.hypotheses, self.requests = hypotheses, []

    def score_batch(self, rows, targets, **options):
        return [types.SimpleNamespace(log_probs=[-1.0] * len(each) + [-9.0]) for each in targets]

    def translate_batch(self, rows, target_prefix, num_hypotheses, max_decoding_length, **options):
        self.requests.append((len(rows), num_hypotheses, max_decoding_length))
        results = []
        for row, prefix in zip(rows, target_prefix, strict=True):
            known = self.hypotheses["".join(row)]
            known = [(log_p, "".join(prefix) + text) for log_p, text in known]
            found = {text[:max_decoding_length]: log_p for log_p, text in reversed(known)}
            found = sorted(((log_p, text) for text, log_p in found.items()), reverse=True)
            log_p, texts = zip(*found[:num_hypotheses], strict=True)
            pieces = [[{".": "</s>"}.get(piece, piece) for piece in text] for text in texts]
            results.append(types.SimpleNamespace(hypotheses=pieces, scores=list(log_p)))
        return results


def engine_of(model, config):
    engine = object.__new__(CTranslate2Engine)
    engine.model, engine.config = model, config
    return engine


def search(hypotheses, prefix=None, **settings):
    """Returns the texts that are found for both sources, and the requests."""
    engine = Listed(hypotheses)
    config = SearchConfig(**{"extra_length": 1, "beam": 2, **settings})
    rows = Rows(SOURCE, None, prefix)
    tokens, scores = engine_of(PieceModel(engine, Letters()), config).search(rows)
    assert np.isfinite(scores[tokens[:, :, 0] > 0]).all()
    texts = [["".join(PIECES[id] for id in ids if id) for ids in row] for row in tokens]
    return [[text.replace("</s>", ".") for text in row] for row in texts], engine.requests


SHORT = [(-1.0, "."), (-1.4, "a."), (-2.9, "aa."), (-3.0, "b.")]


def test_our_length_penalty_chooses_among_the_hypotheses():
    texts, requests = search({"ab": SHORT, "a": SHORT}, alpha=3.0)
    assert texts == [["a."], ["a."]] and requests == [(2, 4, 4)]
    texts, _ = search({"ab": SHORT, "a": SHORT}, alpha=0.0, n_best=2)
    assert texts == [[".", "a."]] * 2


def test_a_hypothesis_longer_than_its_sentence_allows_is_searched_again():
    long = [(-0.5, "aaa."), (-1.0, "aa."), (-2.0, "b."), (-3.0, "c.")]
    texts, requests = search({"ab": [*SHORT[:3], (-5.0, "bbb.")], "a": long}, alpha=0.0)
    assert texts == [["."], ["aa."]]
    assert requests[:2] == [(2, 4, 4), (1, 4, 3)], "the second sentence alone, with its own limit"


def test_a_sentence_is_cut_off_at_its_own_limit_only_if_no_hypothesis_has_ended():
    endless = [(-1.0, "aaaa"), (-2.0, "bbbb")]
    assert search({"ab": endless, "a": endless})[0] == [["aaaa"], ["aaa"]]
    ended = [(-1.0, "aaaa"), (-2.0, "b.")]
    assert search({"ab": ended, "a": ended})[0] == [["b."], ["b."]]


def test_a_longer_list_is_requested_if_the_longest_hypothesis_is_the_best():
    growing = [(-1.0, "a."), (-1.1, "b."), (-1.2, "c."), (-1.3, "d."), (-1.31, "aa.")]
    texts, requests = search({"ab": growing, "a": SHORT}, alpha=1.0)
    assert requests == [(2, 4, 4), (1, 8, 4)]
    assert texts == [["a."], ["."]]
    texts, _ = search({"ab": growing, "a": SHORT}, alpha=3.0)
    assert texts[0] == ["aa."]


def test_greedy_search_requests_one_hypothesis():
    texts, requests = search({"ab": SHORT[:1], "a": SHORT[1:2]}, beam=1)
    assert texts == [["."], ["a."]] and requests == [(2, 1, 4)]


@pytest.mark.parametrize("token", [0, 1])
def test_padding_and_begin_are_left_out(token):
    find = engine_of(None, SearchConfig(beam=2))
    ranked = find.ranked([([token, 2], -1.0), ([4, 2], -9.0)], limit=9)
    assert [ids for _, ids in ranked] == [[4, 2]]


def test_log_p_of_the_prefix_counts_and_the_prefix_ends_at_the_limit():
    engine = Listed({"ab": [(-0.5, ".")], "a": [(-0.0, "")]})
    find = engine_of(PieceModel(engine, Letters()), SearchConfig(extra_length=1, beam=1, alpha=1.0))
    tokens, scores = find.search(Rows(SOURCE, None, np.array([[6, 7, 0, 0, 0], [6, 6, 6, 6, 6]])))
    assert tokens[:, 0].tolist() == [[6, 7, 2], [6, 6, 6]]
    np.testing.assert_allclose(scores[:, 0], [-2.5 / (8 / 6), -3 / (8 / 6)])


def test_a_source_is_given_without_the_begin_and_the_end_that_ctranslate2_adds():
    pieces = PieceModel(None, Letters())
    assert pieces.source_of([1, 4, 5, 2]) == pieces.source_of([4, 5, 2]) == ["a", "b"]
    assert pieces.source_of([2]) == []


def test_log_p_has_an_entry_for_each_token_of_the_target():
    targets = [np.array([4, 2]), np.array([4, 5])]
    found = PieceModel(Listed({}), Letters()).log_p([[4, 2], [4, 2]], targets)
    assert [each.tolist() for each in found] == [[-1, -9], [-1, -1]], "one was cut off"


def test_the_end_of_a_source_has_the_rest_of_the_weight_and_begin_none():
    class Attending:
        def translate_batch(self, rows, **options):
            assert rows == [["a", "b"]] and options["target_prefix"] == [["c"]]
            return [types.SimpleNamespace(attention=[[[0.5, 0.25], [1.0, 0.0], [9.0, 9.0]]])]

    for source, expected in (
        ([4, 5, 2], [[0.5, 0.25, 0.25], [1, 0, 0]]),
        ([1, 4, 5, 2], [[0, 0.5, 0.25, 0.25], [0, 1, 0, 0]]),
    ):
        found = PieceModel(Attending(), Letters()).attention(np.array(source), np.array([6, 2]))
        np.testing.assert_allclose(found, expected)
