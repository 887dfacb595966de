"""The table of metrics and their settings. Importable without sacreBLEU.

A plug-in file adds a metric of a line or of all lines:

    from t2t_keras.evaluation.metric_settings import METRICS, line_metric

    def exact(hypothesis, references):
        return 100.0 * (hypothesis in references)

    METRICS["exact"] = line_metric("exact match", exact)
"""

from collections.abc import Callable
from typing import NamedTuple

# Those of sacreBLEU's tokenizers that need no download: the others fetch a SentencePiece model.
TOKENIZERS = ("13a", "intl", "char", "none", "zh", "ja-mecab", "ko-mecab")
EXTRAS = {"ja-mecab": "ja", "ko-mecab": "ko"}  # {tokenizer: extra that it needs}
# Tokenizers for languages without spaces between words. With them, TER compares characters.
WITHOUT_SPACES = ("zh", "ja-mecab", "char")


class MetricSettings(NamedTuple):
    """The metrics to compute, and their settings.

    Args:
        metrics: names of `METRICS`.
        lowercase: whether BLEU and chrF ignore case. sacreBLEU's TER always does.
        tokenize: one of `TOKENIZERS`, for BLEU.
    """

    metrics: tuple = ("bleu", "chrf")
    lowercase: bool = False
    tokenize: str = "13a"


class Metric(NamedTuple):
    """An entry of `METRICS`.

    Args:
        shown: the name in the output.
        make: function of `MetricSettings` that returns a metric with sacreBLEU's interface, see
            `sacrebleu.metrics.base.Metric`.
        obeys: names of the settings that change the metric.
    """

    shown: str
    make: Callable
    obeys: tuple = ()


def make_bleu(settings):
    from t2t_keras.evaluation.bleu import tokenized_bleu

    return tokenized_bleu(settings.lowercase, settings.tokenize)


def make_chrf(settings):
    from t2t_keras.evaluation.bleu import FloatChrf

    return FloatChrf(lowercase=settings.lowercase)


def make_chrf_with_words(settings):
    from t2t_keras.evaluation.bleu import FloatChrf

    return FloatChrf(word_order=2, lowercase=settings.lowercase)


def make_ter(settings):
    import sacrebleu

    asian = settings.tokenize in WITHOUT_SPACES
    return sacrebleu.TER(normalized=asian, asian_support=asian)


def line_metric(shown, function, score=None):
    """Returns the `Metric` of numbers that are summed over all lines.

    It has intervals and p-values, because a bootstrap sample needs only the sums.

    Args:
        shown: the name in the output.
        function: function of (hypothesis, list of references) that returns a number for a line or,
            with `score`, several numbers.
        score: function of (the sums of these numbers, number of lines) that returns the score, such
            as an F-score of summed counts. None: the mean of a single number.
    """

    def make(settings):
        from t2t_keras.evaluation.own_metrics import LineMetric

        return LineMetric(shown, function, score)

    return Metric(shown, make)


def corpus_metric(shown, function):
    """Returns the `Metric` of all lines at once, which has no intervals and no p-values.

    Args:
        shown: the name in the output.
        function: function of (hypotheses, references) that returns the score. Each line has a list
            of references.
    """

    def make(settings):
        from t2t_keras.evaluation.own_metrics import CorpusMetric

        return CorpusMetric(shown, function)

    return Metric(shown, make)


# {name: `Metric`} in the order of the output. Plug-in files add entries.
METRICS = {
    "bleu": Metric("BLEU", make_bleu, ("lowercase", "tokenize")),
    "chrf": Metric("chrF", make_chrf, ("lowercase",)),
    "chrf++": Metric("chrF++", make_chrf_with_words, ("lowercase",)),
    "ter": Metric("TER", make_ter),
}
