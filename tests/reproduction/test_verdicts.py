"""The tests of the differences in Table 3, compared with published tables and by hand."""

import math

import pytest

from t2t_keras.reproduction.verdicts import Verdict, holm, pooled_p, two_sided_p, verdicts_of

PRINTED = {"base": 4.92, "A_h1": 5.29, "D_smoothing0.0": 4.67, "E_learned": 4.92, "C_N2": 6.11}


@pytest.mark.parametrize(
    ("t", "freedom", "p"), [(12.706, 1, 0.05), (2.776, 4, 0.05), (3.551, 40, 0.001), (0, 9, 1)]
)
def test_p_is_that_of_students_t(t, freedom, p):
    assert two_sided_p(t * 0.3, 0.3, freedom) == pytest.approx(p, rel=1e-3)
    assert two_sided_p(-t * 0.3, 0.3, freedom) == pytest.approx(p, rel=1e-3)
    assert (two_sided_p(0.1, 0.0, 4), two_sided_p(0.0, 0.0, 4)) == (0.0, 1.0), "without any spread"


def test_one_variance_within_all_groups_has_the_degrees_of_freedom_of_all():
    groups = {"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0], "c": [7.0, 8.0, 9.0]}  # variances 1
    error = math.sqrt(2 / 3)
    assert pooled_p(groups)(groups["a"], groups["b"]) == pytest.approx(two_sided_p(3.0, error, 6))


def test_holm_multiplies_by_the_number_of_tests_that_remain():
    corrected = holm({"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.9})
    assert corrected == pytest.approx({"b": 0.04, "c": 0.09, "a": 0.09, "d": 0.9})


@pytest.mark.parametrize(
    ("row", "perplexity", "word"),
    [
        ("A_h1", 5.3, "agrees"),  # the paper: +0.37
        ("A_h1", 4.7, "contradicts"),
        ("A_h1", 5.02, "undecided"),
        ("D_smoothing0.0", 4.7, "agrees"),  # −0.25
        ("E_learned", 5.02, "agrees"),  # 0.00
        ("E_learned", 5.3, "contradicts"),
        ("A_h1", math.inf, "diverged"),
    ],
)
def test_a_verdict_needs_a_difference_beyond_the_error(row, perplexity, word):
    three = {"base": [4.95, 5.0, 5.05], "C_N2": [6.0, 6.1, 6.2]}
    found = [perplexity - 0.05, perplexity, perplexity + 0.05]
    verdicts = verdicts_of({**three, row: found, "big_100K": [4.0, 4.1, 4.2]}, PRINTED)
    assert list(verdicts) == ["C_N2", row], "base, and a row that the paper lacks, have none"
    assert (verdicts[row].word, verdicts["C_N2"].word) == (word, "agrees")


def test_without_a_finite_base_of_several_seeds_there_are_no_verdicts():
    for base in ([4.9], [4.9, math.inf]):
        assert verdicts_of({"base": base, "A_h1": [5.3] * len(base)}, PRINTED) == {}


def test_each_p_is_corrected_for_all_rows():
    rows = {"base": [4.9, 5.0, 5.1], "A_h1": [5.3, 5.4, 5.5], "D_smoothing0.0": [4.9, 5.0, 5.1]}
    losses = {row: list(map(math.log, found)) for row, found in rows.items()}
    alone = pooled_p(losses)(losses["A_h1"], losses["base"])
    assert verdicts_of(rows, PRINTED)["A_h1"] == Verdict(pytest.approx(2 * alone), "agrees")
