"""Scores of texts against each other, such as all candidate translations of a sentence."""

import functools
import itertools

import numpy as np

from t2t_keras.evaluation.metric_settings import METRICS, MetricSettings

ORDERS = 6  # n-grams of chrF have up to this many characters
BETA = 2  # weight of recall in chrF


@functools.lru_cache(4)
def pairwise(metric, comet_model=None):
    """Returns a function of texts and their source that scores each text against each other.

    It returns an array `[hypothesis, reference]`, in which larger numbers are better. `metric` is a
    name in `METRICS`; for `comet_model` see `MetricSettings`.
    """
    if metric == "chrf":
        return chrf_of_pairs
    from t2t_keras.evaluation.bleu import metrics_of

    settings = MetricSettings((metric,), comet_model=comet_model, columns={"source": None})
    (made,), entry = metrics_of(settings).values(), METRICS[metric]
    if not hasattr(made, "_extract_corpus_statistics"):
        raise ValueError(
            f"The utility must be a metric of single lines. Received: {metric!r}, a corpus_metric"
        )
    made.effective_order = True  # without it, BLEU of a text of three words is 0

    def scores(texts, source):
        hypotheses, references = zip(*itertools.product(texts, repeat=2), strict=True)
        made.columns = {name: [source] * len(hypotheses) for name in entry.columns}
        statistics = made._extract_corpus_statistics([*hypotheses], [[*references]])
        found = [made._aggregate_and_compute([each]).score for each in statistics]
        return np.reshape(found, (len(texts), len(texts))) * (-1 if entry.lower_is_better else 1)

    return scores


def chrf_of_pairs(texts, source=None):
    """Returns sacreBLEU's chrF2 of each pair of texts; `source` is not used."""
    letters, count = ["".join(text.split()) for text in texts], len(texts)
    codes = np.frombuffer("".join(letters).encode("utf-32-le", "surrogatepass"), "<i4")
    rows = np.repeat(np.arange(count), [*map(len, letters)])  # index of each letter's text
    grams, precision, orders = np.zeros(len(rows), "int64"), 0.0, 0
    for order in range(1, ORDERS + 1):
        # An n-gram is the one before it in `grams` and one more character of the same text.
        size = max(len(rows) - order + 1, 0)
        grams = np.unique(grams[:size] * 0x110000 + codes[order - 1 :], return_inverse=True)[1]
        inside = rows[:size] == rows[order - 1 :]
        totals = np.bincount(rows[:size][inside], minlength=count)
        shared = shared_counts(rows[:size][inside], grams[inside], count)
        np.fill_diagonal(shared, totals)
        precision = precision + shared / np.maximum(totals, 1)[:, None]
        orders = orders + (np.minimum(totals[:, None], totals) > 0)
    precision = precision / np.maximum(orders, 1)  # its transpose is recall
    weighted = BETA**2 * precision + precision.T
    return 100 * (1 + BETA**2) * precision * precision.T / np.where(weighted > 0, weighted, 1)


def shared_counts(rows, grams, count):
    """Returns how many n-grams, given with the rows of their texts, each pair of texts shares."""
    # Most n-grams of long random texts occur in one text only. They need no column.
    is_common = np.bincount(np.unique(grams * count + rows) // count) > 1
    chosen, size = is_common[grams], int(is_common.sum())
    places = rows[chosen] * size + (np.cumsum(is_common) - 1)[grams[chosen]]
    counts = np.bincount(places, minlength=count * size).reshape(count, size)
    shared, level = np.zeros((count, count)), 1
    while (counts := counts[:, counts.max(0) >= level]).size:
        reached = (counts >= level).astype("float32")
        shared += reached @ reached.T  # min(a, b) is the number of levels that a and b reach
        level += 1
    return shared
