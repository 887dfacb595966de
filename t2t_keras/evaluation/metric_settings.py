"""The table of metrics and their settings. Importable without sacreBLEU.

A plug-in file adds a metric of a line or of all lines:

    from t2t_keras.evaluation.metric_settings import METRICS, line_metric

    def exact(hypothesis, references):
        return 100.0 * (hypothesis in references)

    METRICS["exact"] = line_metric("exact match", exact)
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pipelines.registry import Registry

# Those of sacreBLEU's tokenizers that need no download: the others fetch a SentencePiece model.
TOKENIZERS = ("13a", "intl", "char", "none", "zh", "ja-mecab", "ko-mecab")


class MetricSettings(NamedTuple):
    """The metrics to compute, and their settings.

    Args:
        metrics: names of `METRICS`.
        lowercase: whether BLEU and chrF ignore case. sacreBLEU's TER always does.
        tokenize: one of `TOKENIZERS`, for BLEU.
        comet_model: path of a checkpoint for COMET.
        columns: {name: a text for each line}, such as "source", for metrics that need them.
    """

    metrics: tuple = ("bleu", "chrf")
    lowercase: bool = False
    tokenize: str = "13a"
    comet_model: str | None = None
    columns: Mapping = {}


class Metric(NamedTuple):
    """An entry of `METRICS`.

    Args:
        shown: the name in the output.
        make: function of `MetricSettings` that returns a metric with sacreBLEU's interface, see
            `sacrebleu.metrics.base.Metric`.
        obeys: names of the settings that change the metric.
        columns: names of the columns that it needs. Its attribute `columns` becomes
            {name: a text for each line}.
        lower_is_better: whether a lower score is better.
    """

    shown: str
    make: Callable
    obeys: tuple = ()
    columns: tuple = ()
    lower_is_better: bool = False


def made(name, *arguments):
    """Returns a `Metric.make` that calls a name of `sacrebleu_metrics.py`.

    It is called with the arguments or, if there are none, with the settings.
    """

    def make(settings):
        from t2t_keras.evaluation import sacrebleu_metrics

        return getattr(sacrebleu_metrics, name)(*arguments or (settings,))

    return make


def comet(settings):
    from t2t_keras.evaluation.comet import Comet

    return Comet(settings.comet_model)


def line_metric(shown, function, score=None, columns=()):
    """Returns the `Metric` of numbers that are summed over all lines.

    It has intervals and p-values, because a bootstrap sample needs only the sums.

    Args:
        shown: the name in the output.
        function: function of (hypothesis, list of references) that returns a number for a line or,
            with `score`, several numbers.
        score: function of (the sums of these numbers, number of lines) that returns the score, such
            as an F-score of summed counts. None: the mean of a single number.
        columns: names of columns, such as "source", that `function` gets as keyword arguments.
    """
    return Metric(shown, made("LineMetric", shown, function, score), columns=tuple(columns))


def corpus_metric(shown, function, columns=()):
    """Returns the `Metric` of all lines at once, which has no intervals and no p-values.

    Args:
        shown: the name in the output.
        function: function of (hypotheses, references) that returns the score. Each line has a list
            of references.
        columns: see `line_metric`.
    """
    return Metric(shown, made("CorpusMetric", shown, function), columns=tuple(columns))


# {name: `Metric`} in the order of the output. Plug-in files add entries.
METRICS = Registry(
    "METRICS",
    None,
    {
        "bleu": Metric("BLEU", made("bleu"), ("lowercase", "tokenize")),
        "chrf": Metric("chrF", made("chrf"), ("lowercase",)),
        "chrf++": Metric("chrF++", made("chrf_with_words"), ("lowercase",)),
        "ter": Metric("TER", made("ter"), lower_is_better=True),
        "comet": Metric("COMET", comet, ("comet_model",), ("source",)),
    },
)
