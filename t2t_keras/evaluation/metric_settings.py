"""The choice of sacreBLEU's metrics and their settings. Importable without sacreBLEU."""

from typing import NamedTuple

METRICS = ("bleu", "chrf", "chrf++", "ter")
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
