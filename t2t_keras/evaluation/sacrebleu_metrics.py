"""sacreBLEU's metrics, made from `MetricSettings`."""

import sacrebleu

EXTRAS = {"ja-mecab": "ja", "ko-mecab": "ko"}  # {tokenizer: extra that it needs}
# Tokenizers for languages without spaces between words. With them, TER compares characters.
WITHOUT_SPACES = ("zh", "ja-mecab")


class FloatChrf(sacrebleu.CHRF):
    """sacreBLEU's chrF, but all scores are Python floats.

    sacreBLEU mixes NumPy scalars with the Python float 0.0, and then fails to average them.
    """

    def _compute_f_score(self, statistics):
        return float(super()._compute_f_score(statistics))


def bleu(settings):
    """Returns BLEU. Raises `ValueError` if the tokenizer's package is missing."""
    lowercase, tokenize = settings.lowercase, settings.tokenize
    try:
        # `force` leaves out the advice to detokenize, which users of "none" do not want.
        return sacrebleu.BLEU(lowercase=lowercase, tokenize=tokenize, force=tokenize == "none")
    except RuntimeError as error:  # a package is missing
        if tokenize not in EXTRAS:
            raise
        raise ValueError(
            f"the tokenizer {tokenize} needs a package: pip install 't2t-keras[{EXTRAS[tokenize]}]'"
        ) from error


def chrf(settings):
    return FloatChrf(lowercase=settings.lowercase)


def chrf_with_words(settings):
    return FloatChrf(word_order=2, lowercase=settings.lowercase)


def ter(settings):
    asian = settings.tokenize in WITHOUT_SPACES
    return sacrebleu.TER(normalized=asian, asian_support=asian)
