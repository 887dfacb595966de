"""Scores for a run's translations and for translations in a file."""

from typing import NamedTuple

from pipelines.progress import Progress
from t2t_keras.evaluation.bleu import SAMPLES, compared, metrics_of, scored
from t2t_keras.evaluation.metric_settings import MetricSettings
from t2t_keras.evaluation.paper_bleu import paper_bleu


class Evaluation(NamedTuple):
    """Translations of a test set and their scores."""

    translations: list
    scores: list  # `Score`s by sacreBLEU and, if requested, the BLEU of the paper's Table 2
    against: list | None = None  # the scores of a second system, compared by paired bootstrap


def translate_all(translator, texts, task="translating", **options):
    """Translates each text as one sentence, shows progress, returns the best translations.

    `translator` may be a `Translator` or a `Run`.
    """
    with Progress(task, len(texts), unit="lines") as progress:
        progress.to(0)
        return translator.translate(texts, on_progress=progress.to, split="off", **options)


def evaluate(translations, references, language=None, against=None, settings=None):
    """Returns the `Evaluation` of translations against references.

    Args:
        references: list of strings, or a list of such lists: several references of each line.
        language: language of the references, for the paper's BLEU. If None, it is omitted.
        against: translations of a second system, or None.
        settings: a `MetricSettings`. If None, BLEU and chrF.
    """
    settings, second = settings or MetricSettings(), None
    if against is None:
        metrics = metrics_of(settings).items()
        scores = [scored(*each, translations, references, SAMPLES) for each in metrics]
    else:
        scores, second = compared(translations, against, references, settings=settings)
    if language:
        scores = [*scores, paper_bleu(translations, references, language)]
        if second is not None:
            second = [*second, paper_bleu(against, references, language)]
    return Evaluation(translations, scores, second)
