"""Tests whether Table 3's rows differ from base as in the paper, with several seeds a row.

A row's difference is tested by Student's t. With three seeds, the variance of a single row is
hardly known, so all rows share one estimate: the variance of the log perplexity within the rows.
Holm's method corrects for the number of rows.
"""

import collections
import math
import statistics
from typing import NamedTuple

import tensorflow as tf

LEVEL = 0.05  # a difference counts if its corrected p is below this level


class Verdict(NamedTuple):
    """A row's difference from base, compared with the paper's."""

    p: float  # two-sided p of "the row is like base", corrected for the number of rows
    # "agrees", "contradicts", "undecided" or "diverged". If the paper has no difference, a row
    # without a difference beyond error agrees.
    word: str


def verdicts_of(perplexities, printed):
    """Compares each row with base; returns {row: `Verdict`}.

    Args:
        perplexities: {row: perplexities, one for each seed}.
        printed: {row: the paper's perplexity}. Other rows are not compared.

    Returns:
        The verdicts. They are empty if a row has a single seed or base diverged.
    """
    losses = {row: list(map(math.log, found)) for row, found in perplexities.items()}
    finite = finite_rows(losses)
    if "base" not in finite or any(len(found) < 2 for found in losses.values()):
        return {}
    compared = [row for row in losses if row in printed and row != "base"]
    test, base = pooled_p(finite), finite["base"]
    corrected = holm({row: test(finite[row], base) for row in compared if row in finite})

    def verdict(row):
        if row not in finite:
            return Verdict(math.nan, "diverged")
        ours = statistics.mean(finite[row]) - statistics.mean(base)
        paper = round(printed[row] - printed["base"], 2)
        return Verdict(corrected[row], word_of(ours, paper, corrected[row]))

    return {row: verdict(row) for row in compared}


def finite_rows(values):
    """Returns the rows without a training that diverged."""
    return {row: found for row, found in values.items() if all(map(math.isfinite, found))}


def word_of(ours, paper, p):
    if p >= LEVEL:
        return "undecided" if paper else "agrees"
    return "agrees" if ours * paper > 0 else "contradicts"


def pooled_p(groups):
    """Returns Student's test with the variance within all groups, {name: numbers}.

    The test is a function from two groups to the two-sided p of "their means are the same".
    """
    freedom = freedom_of(groups)
    squares = sum(statistics.variance(found) * (len(found) - 1) for found in groups.values())
    variance = squares / freedom

    def p_of(one, other):
        error = math.sqrt(variance * (1 / len(one) + 1 / len(other)))
        return two_sided_p(statistics.mean(one) - statistics.mean(other), error, freedom)

    return p_of


def freedom_of(groups):
    """Returns the degrees of freedom of the variance within all groups."""
    return sum(len(found) - 1 for found in groups.values())


def two_sided_p(difference, error, freedom):
    """Returns the two-sided p of a difference with a standard error, by Student's t."""
    if not error:
        return 0.0 if difference else 1.0
    x = freedom / (freedom + (difference / error) ** 2)
    a, b, x = (tf.constant(each, tf.float64) for each in (freedom / 2, 0.5, x))
    return float(tf.math.betainc(a, b, x))


def holm(ps):
    """Corrects {name: p} for the number of tests by Holm's method."""
    corrected, highest = {}, 0.0
    for i, name in enumerate(sorted(ps, key=ps.get)):
        highest = max(highest, min(1.0, (len(ps) - i) * ps[name]))
        corrected[name] = highest
    return corrected


def verdict_notes(verdicts, perplexities):
    """Returns notes that count the verdicts; see `verdicts_of`."""
    if not verdicts:
        return []
    counts = collections.Counter(verdict.word for verdict in verdicts.values())
    tests, freedom = len(verdicts) - counts["diverged"], freedom_of(finite_rows(perplexities))
    diverged = [f"{counts['diverged']} diverged"] * bool(counts["diverged"])
    words = [f"{counts['agrees']} agree", f"{counts['contradicts']} contradict"]
    words += [f"{counts['undecided']} undecided", *diverged]
    return [
        f"Verdicts on {len(verdicts)} differences in perplexity: {', '.join(words)}.",
        "± is the standard error. The p of a row is from Student's t for the log perplexity, "
        f"with one variance within all rows ({freedom} degrees of freedom), corrected by Holm for "
        f"{tests} comparisons. Below {LEVEL}, the row agrees with the paper or contradicts "
        "it; otherwise, it is undecided. (If the paper has no difference, such a row agrees.)",
        "All differences share the same trainings of base, so their errors are not independent.",
    ]
