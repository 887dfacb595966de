"""BLEU and chrF as reported in papers: computed by sacreBLEU, with their signatures."""

import logging
import math
from typing import NamedTuple

import sacrebleu
from sacrebleu.significance import PairedTest

SAMPLES = 1000  # bootstrap samples
# Hides the progress messages of `PairedTest`, which have the level INFO.
logging.getLogger("sacrebleu").setLevel(logging.WARNING)


class Score(NamedTuple):
    """A score and how it was computed."""

    name: str
    score: float
    signature: str
    lines: int
    interval: float | None = None  # half the width of the 95 % bootstrap interval
    p_value: float | None = None  # for the null hypothesis that the two systems are equal


def bleu(hypotheses, references, samples=0):
    """Returns cased BLEU with one reference per line and 13a tokenization.

    Args:
        hypotheses, references: lists of texts.
        samples: number of bootstrap samples for the interval. If 0, there is no interval.
    """
    return scored("BLEU", sacrebleu.BLEU(), hypotheses, references, samples)


def chrf(hypotheses, references, samples=0):
    """Returns chrF2, an F-score of character n-grams, which needs no tokenization.

    Args:
        hypotheses, references: lists of texts.
        samples: number of bootstrap samples for the interval. If 0, there is no interval.
    """
    return scored("chrF", FloatChrf(), hypotheses, references, samples)


class FloatChrf(sacrebleu.CHRF):
    """sacreBLEU's chrF, but all scores are Python floats.

    sacreBLEU mixes NumPy scalars with the Python float 0.0, and then fails to average them.
    """

    def _compute_f_score(self, statistics):
        return float(super()._compute_f_score(statistics))


def sentence_bleu(hypotheses, references):
    """Returns each line's BLEU; ignores n-gram orders that are longer than the line.

    Use it to find good and bad lines. The mean of these scores is not the BLEU of all lines.
    """
    check_lines(hypotheses, references)
    metric = sacrebleu.BLEU(effective_order=True)
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]


def scored(name, metric, hypotheses, references, samples=0):
    """Returns the `Score` of a sacreBLEU metric."""
    check_lines(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=samples or 1)
    interval = result._ci if samples else None
    return Score(name, result.score, str(metric.get_signature()), len(references), interval)


def paired_bleu(systems, references, samples=SAMPLES):
    """Returns the BLEU of several systems on the same lines.

    All scores except the first have a p-value, from a paired bootstrap test against the first
    system.

    Args:
        systems: a list of texts for each system.
        references: list of texts.
        samples: number of bootstrap samples.
    """
    for hypotheses in systems:
        check_lines(hypotheses, references)
    named = [(str(index), list(hypotheses)) for index, hypotheses in enumerate(systems)]
    metrics = {"BLEU": sacrebleu.BLEU()}
    signatures, results = PairedTest(
        named, metrics, [list(references)], test_type="bs", n_samples=samples
    )()
    signature, lines = str(signatures["BLEU"]), len(references)
    scores = [
        Score("BLEU", each.score, signature, lines, each.ci, each.p_value)
        for each in results["BLEU"]
    ]
    first, *others = scores
    return [first, *(with_tie(each, first) for each in others)]


def compared(hypotheses, others, references, samples=SAMPLES):
    """Compares two systems on the same lines by paired bootstrap resampling.

    Args:
        hypotheses, others, references: parallel lists of texts.
        samples: number of bootstrap samples.

    Returns:
        [BLEU, chrF] of `hypotheses`, and [BLEU, chrF] of `others`. All scores have an interval.
        The scores of `hypotheses` also have a p-value: 1 if both systems have the same score,
        otherwise sacreBLEU's p-value.
    """
    check_lines(hypotheses, references)
    check_lines(others, references)
    metrics = {"BLEU": sacrebleu.BLEU(), "chrF": sacrebleu.CHRF()}
    systems = [("others", list(others)), ("hypotheses", list(hypotheses))]
    signatures, results = PairedTest(
        systems, metrics, [list(references)], test_type="bs", n_samples=samples
    )()
    del results["System"]

    def scores_of(system):
        rows = zip(metrics, signatures.values(), results.values(), strict=True)
        return [
            Score(
                name,
                by_system[system].score,
                str(signature),
                len(references),
                by_system[system].ci,
                by_system[system].p_value,
            )
            for name, signature, by_system in rows
        ]

    ours, theirs = scores_of(1), scores_of(0)
    return [with_tie(*pair) for pair in zip(ours, theirs, strict=True)], theirs


def with_tie(ours, theirs):
    """Returns `ours`, with p = 1 if the scores are equal.

    sacreBLEU counts the samples in which the systems differ more than on the whole test set. If
    the systems are equal in every sample, the count is 0, and sacreBLEU reports p ≈ 0.
    """
    equal = math.isclose(ours.score, theirs.score, abs_tol=1e-9)
    return ours._replace(p_value=1.0) if equal else ours


def check_lines(hypotheses, references):
    if len(hypotheses) != len(references):
        raise ValueError(
            "Hypotheses and references must have the same number of lines. Received: "
            f"{len(hypotheses):,} and {len(references):,}"
        )
    if not references:
        raise ValueError("There is nothing to score: hypotheses and references have no lines")
