"""Which hypotheses are selected from CTranslate2's lists, and when a longer list is requested."""

import os
import types

import numpy as np
import pytest

from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.ctranslate2_search import CTranslate2Search, cores

PIECES = ["<pad>", "<s>", "</s>", "<unk>", *"abcdefgh"]
SOURCE = np.array([[4, 5, 2, 0], [4, 2, 0, 0]])  # limits with extra_length=1: 4 and 3


class Listed:
    """Stands for CTranslate2: returns the hypotheses of a list, as long as limits permit.

    Args:
        hypotheses: {first piece of the source: [(log P, text), …]}; "." stands for the end.
    """

    def __init__(self, hypotheses):
        self.hypotheses, self.requests = hypotheses, []

    def translate_batch(self, rows, num_hypotheses, max_decoding_length, **options):
        self.requests.append((len(rows), num_hypotheses, max_decoding_length))
        results = []
        for row in rows:
            known = self.hypotheses["".join(row)]
            found = {text[:max_decoding_length]: log_p for log_p, text in reversed(known)}
            found = sorted(((log_p, text) for text, log_p in found.items()), reverse=True)
            log_p, texts = zip(*found[:num_hypotheses], strict=True)
            pieces = [[{".": "</s>"}.get(piece, piece) for piece in text] for text in texts]
            results.append(types.SimpleNamespace(hypotheses=pieces, scores=list(log_p)))
        return results


def search(hypotheses, **settings):
    """Returns the texts that are found for both sources, and the requests."""
    engine = Listed(hypotheses)
    config = SearchConfig(**{"extra_length": 1, "beam": 2, **settings})
    tokens, scores = CTranslate2Search(engine, PIECES, PIECES, config)(SOURCE)
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
    engine = Listed({"ab": SHORT, "a": SHORT})
    find = CTranslate2Search(engine, PIECES, PIECES, SearchConfig(beam=2))
    ranked = find.ranked([([token, 2], -1.0), ([4, 2], -9.0)], 9)
    assert [ids for _, ids in ranked] == [[4, 2]]


def test_all_cores_are_used_where_the_system_cannot_restrict_them(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)  # macOS has none
    assert cores() == os.cpu_count()
