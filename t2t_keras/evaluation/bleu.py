"""Scores as reported in papers: computed by sacreBLEU, with their signatures.

References are a list of texts, or a list of such lists: several references of each line.
"""

import logging
import math
from typing import NamedTuple

import sacrebleu
from sacrebleu.significance import PairedTest

from t2t_keras.evaluation.metric_settings import METRICS, Metric, MetricSettings
from t2t_keras.evaluation.sacrebleu_metrics import CorpusMetric, FloatChrf

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
    """Returns the `Score` of cased BLEU with 13a tokenization, see `scored`."""
    return scored("BLEU", sacrebleu.BLEU(), hypotheses, references, samples)


def chrf(hypotheses, references, samples=0):
    """Returns the `Score` of chrF2, an F-score of character n-grams, see `scored`."""
    return scored("chrF", FloatChrf(), hypotheses, references, samples)


def metrics_of(settings):
    """Returns {displayed name: metric with sacreBLEU's interface} of a `MetricSettings`."""
    metrics = {}
    for name, metric in METRICS.items():
        if name not in settings.metrics:
            continue
        if not isinstance(metric, Metric):
            raise ValueError(
                f"METRICS[{name!r}] must be line_metric(…), corpus_metric(…) or Metric(…). "
                f"Received: {metric!r}"
            )
        if metric.shown in metrics:
            raise ValueError(f"Two metrics have the same displayed name, {metric.shown!r}")
        if missing := [column for column in metric.columns if column not in settings.columns]:
            raise ValueError(
                f"The metric {name!r} needs the column {missing[0]!r}, see --column. Received: "
                f"{', '.join(settings.columns) or 'no columns'}"
            )
        metrics[metric.shown] = made = metric.make(settings)
        made.columns = {column: settings.columns[column] for column in metric.columns}
    return metrics


def sentence_bleu(hypotheses, references):
    """Returns each line's BLEU; ignores n-gram orders that are longer than the line.

    Use it to find good and bad lines. The mean of these scores is not the BLEU of all lines.
    """
    check_lines(hypotheses, references)
    metric = sacrebleu.BLEU(effective_order=True)
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]


def scored(name, metric, hypotheses, references, samples=0):
    """Returns the `Score` of a sacreBLEU metric; `name` is its displayed name.

    `samples` is the number of bootstrap samples for the interval. If 0, there is no interval.
    """
    check_lines(hypotheses, references)
    result = metric.corpus_score(
        list(hypotheses), reference_lists(references), n_bootstrap=samples or 1
    )
    interval = result._ci if samples else None
    return Score(name, result.score, str(metric.get_signature()), len(hypotheses), interval)


def reference_lists(references):
    """Returns references as sacreBLEU takes them: a list of lists of texts."""
    references = list(references)
    return [references] if all(isinstance(each, str) for each in references) else references


def paired_bleu(systems, references, samples=SAMPLES):
    """Returns the `Score`s of BLEU of several systems, see `paired_scores`."""
    return paired_scores({"BLEU": sacrebleu.BLEU()}, systems, references, samples)["BLEU"]


def compared(hypotheses, others, references, samples=SAMPLES, settings=None):
    """Compares two systems on the same lines by paired bootstrap resampling.

    Without a `MetricSettings`, the metrics are BLEU and chrF.

    Returns:
        The `Score`s of `hypotheses` and of `others`. All scores have an interval. The scores
        of `hypotheses` also have a p-value: 1 if both systems have the same score, otherwise
        sacreBLEU's p-value. Scores of a `corpus_metric` have neither.
    """
    metrics = metrics_of(settings or MetricSettings())
    paired = {
        name: metric for name, metric in metrics.items() if not isinstance(metric, CorpusMetric)
    }
    systems = others, hypotheses
    tested = paired_scores(paired, systems, references, samples) if paired else {}
    for name in metrics.keys() - paired.keys():
        tested[name] = [scored(name, metrics[name], lines, references) for lines in systems]
    theirs, ours = zip(*(tested[name] for name in metrics), strict=True)
    return list(ours), list(theirs)


def paired_scores(metrics, systems, references, samples):
    """Returns {displayed name: the `Score`s of several systems}.

    The p-values are of a paired bootstrap test against the first system, which has none. sacreBLEU
    counts the samples in which the systems differ more than on the whole test set. If the systems
    are equal in every sample, the count is 0, and it reports p ≈ 0; here, p is 1 for equal scores.
    """
    for hypotheses in systems:
        check_lines(hypotheses, references)
    named = [(str(index), list(hypotheses)) for index, hypotheses in enumerate(systems)]
    signatures, results = PairedTest(
        named, metrics, reference_lists(references), test_type="bs", n_samples=samples
    )()
    del results["System"]
    scores = {}
    parts = zip(metrics, signatures.values(), results.values(), strict=True)
    for name, signature, of_systems in parts:
        scores[name] = []
        for each in of_systems:
            equal = math.isclose(each.score, of_systems[0].score, abs_tol=1e-9)
            p_value = 1.0 if scores[name] and equal else each.p_value
            facts = name, each.score, str(signature), len(systems[0]), each.ci, p_value
            scores[name].append(Score(*facts))
    return scores


def check_lines(hypotheses, references):
    for lines in reference_lists(references):
        if len(hypotheses) != len(lines):
            raise ValueError(
                "Hypotheses and references must have the same number of lines. Received: "
                f"{len(hypotheses):,} and {len(lines):,}"
            )
    if not hypotheses:
        raise ValueError("There is nothing to score: hypotheses and references have no lines")
