"""Scores of translations as they are compared between papers: sacreBLEU, with its signature."""

from typing import NamedTuple

import sacrebleu
from sacrebleu.significance import PairedTest

SAMPLES = 1000  # of the bootstrap


class Score(NamedTuple):
    """A score and how it was computed."""

    name: str
    score: float
    signature: str
    lines: int
    interval: float | None = None  # 95 % of the resampled test sets are at most this far away
    p_value: float | None = None  # of being no different from the system compared with


def bleu(hypotheses, references, samples=0):
    """BLEU of one system with one reference a line: 13a tokenisation, cased.

    Args:
        hypotheses, references: lists of texts.
        samples: how often the lines are drawn anew for the interval. 0: no interval.
    """
    return scored("BLEU", sacrebleu.BLEU(), hypotheses, references, samples)


def chrf(hypotheses, references, samples=0):
    """chrF2, the same way: an F-score of characters, which no tokenisation changes."""
    return scored("chrF", Chrf(), hypotheses, references, samples)


class Chrf(sacrebleu.CHRF):
    """sacreBLEU's own, whose resampled scores are of one type.

    Theirs are NumPy's numbers or a plain 0.0, and their mean refuses a mixture of both.
    """

    def _compute_f_score(self, statistics):
        return float(super()._compute_f_score(statistics))


def sentence_bleu(hypotheses, references):
    """BLEU of each line alone, in which what is too short for a 4-gram counts up to what it has.

    Good for finding lines to look at. Its mean is not the BLEU of the lines together.
    """
    check_lines(hypotheses, references)
    metric = sacrebleu.BLEU(effective_order=True)
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]


def scored(name, metric, hypotheses, references, samples=0):
    check_lines(hypotheses, references)
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=samples or 1)
    interval = result._ci if samples else None
    return Score(name, result.score, str(metric.get_signature()), len(references), interval)


def compared(hypotheses, others, references, samples=SAMPLES):
    """BLEU and chrF of two systems on the same lines, by paired bootstrap resampling.

    Returns:
        The scores of the first system, then those of the other, each with its interval; those of
        the first also with the probability that it is no different.
    """
    check_lines(hypotheses, references)
    check_lines(others, references)
    metrics = {"BLEU": sacrebleu.BLEU(), "chrF": sacrebleu.CHRF()}
    systems = [("others", list(others)), ("hypotheses", list(hypotheses))]
    signatures, found = PairedTest(
        systems, metrics, [list(references)], test_type="bs", n_samples=samples
    )()
    del found["System"]

    def of_system(number):
        results = [of_metric[number] for of_metric in found.values()]
        return [
            Score(name, result.score, str(signature), len(references), result.ci, result.p_value)
            for name, signature, result in zip(metrics, signatures.values(), results, strict=True)
        ]

    ours, theirs = of_system(1), of_system(0)
    if list(hypotheses) == list(others):  # no resampling tells them apart: sacreBLEU says p ≈ 0
        ours = [score._replace(p_value=1.0) for score in ours]
    return ours, theirs


def check_lines(hypotheses, references):
    if len(hypotheses) != len(references):
        raise ValueError(
            "Hypotheses and references must have the same number of lines. Received: "
            f"{len(hypotheses):,} and {len(references):,}"
        )
    if not references:
        raise ValueError("There is nothing to score: both have no line at all")
