"""Every search, compared with all hypotheses that the constraints allow, also if they are few."""

import pytest
from support.models.table_model import END, TableModel, allowed, random_constraints, search_table

from t2t_keras.decoding.beam_search import BeamSearch
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
    "no word twice": (
        4,
        {"banned": (4, 5, 6), "first": (3,), "no_repeat_ngram": 1},
        [(3, END)],
    ),
}


LIMITS = (1, 2, 3, 4, 4)


def tokens_found(model, case, search):
    """Returns the tokens of each hypothesis that a search finds in a case of `FEW_HYPOTHESES`."""
    limit, constraints, _ = FEW_HYPOTHESES[case]
    prefixes = [constraints.get("prefix", ())]
    settings = {name: value for name, value in constraints.items() if name != "prefix"}
    (results,) = search_table(model, [limit], prefixes, **settings, **SEARCHES[search])
    return {tokens for _, tokens in results}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("case", FEW_HYPOTHESES)
def test_a_search_finds_the_only_hypothesis(case, search):
    assert tokens_found(TableModel(seed=1), case, search) == set(FEW_HYPOTHESES[case][2])


@pytest.mark.parametrize("case", FEW_HYPOTHESES)
def test_an_ensemble_finds_the_only_hypothesis(case):
    model = Ensemble([TableModel(seed=1), TableModel(seed=2)])
    assert tokens_found(model, case, "beam 4") == set(FEW_HYPOTHESES[case][2])


@pytest.mark.long
@pytest.mark.parametrize("search", ["greedy", "beam 4", "sampling"])
def test_random_constraints_leave_every_search_with_an_allowed_hypothesis(search):
    for seed in range(5):
        model, (constraints, prefixes) = TableModel(seed), random_constraints(seed, LIMITS)
        results = search_table(model, LIMITS, prefixes, **constraints, **SEARCHES[search])
        for hypotheses, limit, prefix in zip(results, LIMITS, prefixes, strict=True):
            assert hypotheses, (constraints, prefix)
            for score, tokens in hypotheses:
                assert allowed(tokens, prefix, **constraints), (constraints, prefix, tokens)
                assert tokens[-1] == END or len(tokens) == limit
                assert score == pytest.approx(model.score(tokens), abs=1e-4)


@pytest.mark.long
def test_a_wide_enough_beam_finds_the_best_hypotheses_that_random_constraints_allow():
    for seed in range(5):
        model, (constraints, prefixes) = TableModel(seed), random_constraints(seed, LIMITS)
        settings = constraints | SEARCHES["wide beam"]
        results = search_table(model, LIMITS, prefixes, **settings)
        for hypotheses, limit, prefix in zip(results, LIMITS, prefixes, strict=True):
            expected = model.hypotheses(limit, prefix, **constraints)[:2]
            assert [each[1] for each in hypotheses] == [each[1] for each in expected], constraints


@pytest.mark.long
def test_a_beam_of_1_is_greedy_search_under_random_constraints():
    for seed in range(5):
        model, (constraints, prefixes) = TableModel(seed), random_constraints(seed, LIMITS)
        greedy, beam = (
            search_table(model, LIMITS, prefixes, **constraints, **SEARCHES[name], alpha=0.0)
            for name in ("greedy", "beam 1")
        )
        for ((score, tokens),), ((beam_score, beam_tokens),) in zip(greedy, beam, strict=True):
            assert beam_tokens == tokens and beam_score == pytest.approx(score, abs=1e-5)
