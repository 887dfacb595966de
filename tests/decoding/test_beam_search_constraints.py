"""Every search, compared with all hypotheses that the constraints allow, also if they are few."""

import numpy as np
import pytest
from support.models.table_model import END, TableModel, allowed, random_constraints, search_table

from t2t_keras.decoding.beam_search import BeamSearch
from t2t_keras.decoding.constraints import IMPOSSIBLE
from t2t_keras.decoding.ensemble import Ensemble

SEARCHES = {
    "greedy": {"beam": 1},
    "beam 1": {"beam": 1, "method_of": BeamSearch},
    "beam 2": {"beam": 2},
    "beam 4": {"beam": 4, "n_best": 4},
    "wide beam": {"beam": 5 * 4**3, "n_best": 2},  # all hypotheses of 4 words
    "sampling": {"method": "sample", "n_best": 3},
}
FEW_HYPOTHESES = {
    "a prefix as long as the limit": (3, {"prefix": (5, 6, 5)}, [(5, 6, 5)]),
    "a prefix longer than the limit": (2, {"prefix": (5, 6, 5)}, [(5, 6)]),
    "one first token and room for one": (1, {"first": (4,)}, [(4,)]),
    "one first token and a ban": (1, {"first": (4, 5), "banned": (5,)}, [(4,)]),
    "nothing but the end": (3, {"banned": (3, 4, 5, 6)}, [(END,)]),
    "only the end may come first": (3, {"first": (END,)}, [(END,)]),
    "an end after the prefix": (3, {"prefix": (5, 6), "banned": (3, 4, 5, 6)}, [(5, 6, END)]),
    "no word twice": (4, {"banned": (4, 5, 6), "first": (3,), "no_repeat_ngram": 1}, [(3, END)]),
}
LIMITS = (1, 2, 3, 4, 4)


@pytest.mark.parametrize("case", FEW_HYPOTHESES)
def test_every_search_finds_the_only_hypothesis(case):
    limit, constraints, expected = FEW_HYPOTHESES[case]
    prefixes = [constraints.get("prefix", ())]
    settings = {name: value for name, value in constraints.items() if name != "prefix"}
    one, ensemble = TableModel(seed=1), Ensemble([TableModel(seed=1), TableModel(seed=2)])
    for model, name in [*((one, name) for name in SEARCHES), (ensemble, "beam 4")]:
        (results,) = search_table(model, [limit], prefixes, **settings, **SEARCHES[name])
        assert {tokens for _, tokens in results} == set(expected), name


@pytest.mark.parametrize("seed", range(10))
def test_every_search_finds_a_hypothesis_that_random_constraints_allow(seed):
    model, (constraints, prefixes) = TableModel(seed), random_constraints(seed, LIMITS)
    found = {
        name: search_table(model, LIMITS, prefixes, **constraints, **settings)
        for name, settings in SEARCHES.items()
    }
    for results in found.values():
        for hypotheses, limit, prefix in zip(results, LIMITS, prefixes, strict=True):
            assert hypotheses, (constraints, prefix)
            for score, tokens in hypotheses:
                assert allowed(tokens, prefix, **constraints), (constraints, prefix, tokens)
                assert tokens[-1] == END or len(tokens) == limit
                assert score == pytest.approx(model.score(tokens), abs=1e-4)
    for hypotheses, limit, prefix in zip(found["wide beam"], LIMITS, prefixes, strict=True):
        best = model.hypotheses(limit, prefix, **constraints)[:2]
        assert [tokens for _, tokens in hypotheses] == [tokens for _, tokens in best], constraints


@pytest.mark.parametrize("seed", range(10))
def test_a_beam_of_1_without_length_penalty_is_greedy_search(seed):
    model, (constraints, prefixes) = TableModel(seed), random_constraints(seed, LIMITS)
    greedy, beam = (
        search_table(model, LIMITS, prefixes, **constraints, **SEARCHES[name], alpha=0.0)
        for name in ("greedy", "beam 1")
    )
    for ((score, tokens),), ((beam_score, beam_tokens),) in zip(greedy, beam, strict=True):
        assert beam_tokens == tokens and beam_score == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_stopping_early_changes_no_result(seed, monkeypatch):
    model, limits = TableModel(seed, vocabulary=12, end=1.0), (3, 8, 12)
    for alpha in (0.0, 0.6):
        settings = {"beam": 4, "alpha": alpha}
        with monkeypatch.context() as patch:
            patch.setattr(BeamSearch, "finished_score", lambda *_: IMPOSSIBLE)
            complete = search_table(model, limits, **settings, n_best=4)
        for n_best in (1, 3):
            early = search_table(model, limits, **settings, n_best=n_best)
            assert early == [hypotheses[:n_best] for hypotheses in complete]


def stopped(model, limit, stopping, beam=3):
    """Returns the best hypothesis of a beam search over a `TableModel`, in plain Python."""
    live, finished = [(0.0, ())], [(-np.inf, ())]
    for length in range(1, limit + 1):
        candidates = sorted(
            (
                (log_p + model.log_p[length - 1, (1, *tokens)[-1], token], (*tokens, token))
                for log_p, tokens in live
                for token in range(END, model.logits.shape[-1])
            ),
            reverse=True,
        )
        ended = [each for each in candidates[:beam] if each[1][-1] == END]
        finished += [(log_p / penalty(length), tokens) for log_p, tokens in ended]
        live = [each for each in candidates[: 2 * beam] if each[1][-1] != END][:beam]
        best, log_p = max(finished), live[0][0]
        if {
            "exact": log_p / penalty(limit) <= best[0],
            "first": log_p / penalty(length) <= best[0],
            "patience": len(finished) > beam,
        }[stopping]:
            break
    return best


def penalty(length, alpha=1.5):
    return ((5 + length) / 6) ** alpha


def test_each_rule_for_stopping_finds_what_the_same_rule_finds_in_plain_python():
    results = {}
    for stopping in ("exact", "first", "patience"):
        for seed in range(40):
            model = TableModel(seed, vocabulary=12, end=1.0)
            settings = {"beam": 3, "alpha": 1.5, "stopping": stopping}
            (((score, tokens),),) = search_table(model, (12,), **settings)
            expected, best = stopped(model, 12, stopping)
            assert (tokens, score) == (best, pytest.approx(expected, abs=1e-5)), (stopping, seed)
            results.setdefault(stopping, []).append(tokens)
    assert results["exact"] != results["first"] != results["patience"] != results["exact"]
