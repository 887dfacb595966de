"""Constrained search, compared with all hypotheses that contain the phrases."""

import itertools

import numpy as np
import pytest
from support.models.table_model import END, TableModel, found, padded, search_table

from t2t_keras.decoding.batches import stacked
from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.constraints import IMPOSSIBLE
from t2t_keras.decoding.numpy_search import numpy_search
from t2t_keras.decoding.phrases.constrained_beam_search import ConstrainedBeamSearch
from t2t_keras.decoding.search_config import SearchConfig

VOCABULARY = 6
FOLLOWS = np.arange(12) != 3  # 3 continues a word
CASES = {
    "a phrase of three tokens": [(4, 3, 5)],
    "the same phrase twice": [(5,), (5,)],
    "phrases that begin alike": [(4, 3), (4, 5)],
    "phrases that overlap": [(5, 4), (4, 5)],
    "a phrase inside another, where it is not a word": [(4, 4, 3), (4,)],
}


def constrained(model, limits, phrases, prefixes=None, extra_length=0, **settings):
    """Returns (score, tokens) of each hypothesis of each sentence, as `search_table` does."""
    config = SearchConfig(extra_length=extra_length, **settings)
    ids = [stacked([np.array(each, "int32") for each in of_row or [[]]]) for of_row in phrases]
    extras = {"phrases": stacked(ids)}
    if prefixes:
        extras["prefix"] = padded(prefixes)
    method = ConstrainedBeamSearch(model, config, FOLLOWS[: model.config.vocab_size])
    return found(*numpy_search(method, padded([[2] * limit for limit in limits]), None, extras))


def occurrences(tokens, phrase, deadline):
    """Returns how often a phrase is written within so many tokens, without overlap."""
    count = start = 0
    while start + len(phrase) <= min(len(tokens), deadline):
        end = start + len(phrase)
        whole = end == len(tokens) or FOLLOWS[tokens[end]]
        here = tokens[start:end] == phrase and whole
        count, start = count + here, end if here else start + 1
    return count


def contains_all(tokens, phrases, deadline=100):
    return all(occurrences(tokens, phrase, deadline) >= phrases.count(phrase) for phrase in phrases)


def all_hypotheses(model, limit, phrases, extra_length):
    """Returns all hypotheses that contain the phrases and end within the limit, best first."""
    deadline = limit + sum(map(len, phrases))
    hypotheses = [
        (*middle, END)
        for length in range(deadline + extra_length)
        for middle in itertools.product(range(3, VOCABULARY), repeat=length)
        if contains_all((*middle, END), phrases, deadline)
    ]
    return sorted(((model.score(each), each) for each in hypotheses), reverse=True)


@pytest.mark.parametrize(("case", "extra_length"), list(zip(CASES, (0, 2, 0, 1, 0), strict=True)))
def test_a_wide_enough_beam_finds_the_best_of_all_hypotheses(case, extra_length):
    model, phrases = TableModel(3, VOCABULARY), CASES[case]
    (results,) = constrained(model, [2], [phrases], beam=150, n_best=3, extra_length=extra_length)
    expected = all_hypotheses(model, 2, phrases, extra_length)
    assert [tokens for _, tokens in results] == [tokens for _, tokens in expected[:3]]
    np.testing.assert_allclose([s for s, _ in results], [s for s, _ in expected[:3]], atol=1e-4)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_beam_of_any_width_writes_all_phrases_with_the_scores_of_the_model(beam):
    phrases, limits = [*CASES.values()], [1, 2, 3, 4, 5]
    prefixes = [(), (4, 3), (), (5, 5, 5, 5, 5, 5), (3,)]
    for seed in range(5):
        model, settings = TableModel(seed, VOCABULARY), {"beam": beam, "n_best": beam}
        results = constrained(model, limits, phrases, prefixes, extra_length=1, **settings)
        for hypotheses, of_sentence, prefix in zip(results, phrases, prefixes, strict=True):
            assert hypotheses
            for score, tokens in hypotheses:
                assert contains_all(tokens, of_sentence), (of_sentence, tokens)
                assert tokens[: len(prefix)] == prefix
                assert score == pytest.approx(model.score(tokens), abs=1e-4)


def test_a_sentence_without_phrases_is_searched_as_by_beam_search():
    model, limits = TableModel(2, VOCABULARY), [4, 6, 5]
    settings = {"beam": 3, "n_best": 3}
    ordinary = search_table(model, limits, **settings)
    with_phrases = constrained(model, limits, [[], [(5, 5)], []], **settings)
    assert with_phrases[::2] == ordinary[::2] and with_phrases[1] != ordinary[1]


@pytest.mark.parametrize("seed", range(10))
def test_an_empty_prefix_and_stopping_early_change_no_result(seed, monkeypatch):
    # Without a prefix, the search gets more tokens of each hypothesis to choose from.
    model, phrases = TableModel(seed, vocabulary=12), [[(5, 9)], [(4,), (11, 8)], [(10, 6, 7)]]
    for beam in (1, 2, 3):
        settings = {"beam": beam, "n_best": beam, "extra_length": 1}
        with monkeypatch.context() as patch:
            patch.setattr(BeamSearch, "finished_score", lambda *_: IMPOSSIBLE)
            expected = constrained(model, [3, 5, 6], phrases, None, **settings)
        for prefixes in (None, [(), (), (0,)]):
            results = constrained(model, [3, 5, 6], phrases, prefixes, **settings)
            for ours, theirs in zip(results, expected, strict=True):
                assert [tokens for _, tokens in ours] == [tokens for _, tokens in theirs]


def test_phrases_may_repeat_ngrams_and_first_tokens_are_obeyed():
    settings = {"beam": 2, "no_repeat_ngram": 1, "first": (3,)}
    (((_, tokens), *_),) = constrained(TableModel(1, VOCABULARY), [3], [[(5, 5), (5,)]], **settings)
    assert contains_all(tokens, [(5, 5), (5,)]) and tokens[0] == 3
