"""Metrics with sacreBLEU's interface: sacreBLEU's own, and the functions of a plug-in file.

All of them have sacreBLEU's bootstrap with its seed. If a function of a plug-in fails, the error
names the metric, the place and the line.
"""

import contextlib
import functools
import hashlib
import math
from numbers import Real
from pathlib import Path

import sacrebleu
from sacrebleu.metrics.base import Metric, Score, Signature

from pipelines.checks import failure_of

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


class LineMetric(Metric):
    """A metric of numbers that are summed over all lines, see `line_metric`."""

    _preprocess_segment = _extract_reference_info = _compute_segment_statistics = None  # not called

    def __init__(self, shown, function, score=None):
        super().__init__()
        self.shown, self.function, self.score = shown, function, score

    def get_signature(self):
        return signature_of(self)

    def _extract_corpus_statistics(self, hypotheses, references):
        """Returns the numbers of each line, and 1 to count the lines."""
        self.num_refs, statistics = len(references), []
        for line, (text, *others) in enumerate(zip(hypotheses, *references, strict=True), 1):
            where = f" at line {line:,} ({text[:60]!r})"
            own = {name: texts[line - 1] for name, texts in self.columns.items()}
            function = functools.partial(self.function, **own)
            numbers = called(self, where, function, text, others, several=bool(self.score))
            statistics.append([*numbers, 1.0])
            if len(numbers) != len(statistics[0]) - 1:
                raise ValueError(
                    f"The metric {self.shown!r} must return equally many numbers for each line. "
                    f"Received: {len(statistics[0]) - 1} and, {where[1:]}, {len(numbers)}"
                )
        return statistics

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats(
            [math.fsum(column) for column in zip(*stats, strict=True)]
        )

    def _compute_score_from_stats(self, stats):
        *sums, lines = map(float, stats)
        if self.score is None:
            return Score(f"own {self.shown}", sums[0] / lines)
        return Score(f"own {self.shown}", *called(self, " in `score`", self.score, sums, lines))


class CorpusMetric:
    """A metric of all lines at once, see `corpus_metric`."""

    def __init__(self, shown, function):
        self.shown, self.function, self.num_refs = shown, function, None

    def get_signature(self):
        signature = signature_of(self)
        signature.update("bs", "none")
        return signature

    def corpus_score(self, hypotheses, references, n_bootstrap=1):
        """Returns sacreBLEU's `Score`, without an interval."""
        self.num_refs = len(references)
        lines = [list(line) for line in zip(*references, strict=True)]
        function = functools.partial(self.function, **self.columns)
        result = Score(self.shown, *called(self, "", function, list(hypotheses), lines))
        result._ci = None
        return result


def signature_of(metric):
    """Returns sacreBLEU's signature with the file of the metric's function and its digest."""
    signature = Signature(vars(metric))
    if code := getattr(metric.function, "__code__", None):
        with contextlib.suppress(OSError):
            digest = hashlib.sha256(Path(code.co_filename).read_bytes()).hexdigest()
            signature.update("file", f"{Path(code.co_filename).name}@{digest[:8]}")
    return signature


def called(metric, where, function, *arguments, several=False):
    """Returns a list of the number, or of the `several` numbers, that a user's function returns.

    They must be finite. Errors become a `ValueError` of one line, with `where` for the place.
    """
    try:
        value = function(*arguments)
        numbers = list(value) if several else [value]
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"The metric {metric.shown!r} failed{where}: {failure_of(error)}"
        ) from error
    for each in numbers:
        if not isinstance(each, Real) or not math.isfinite(each):
            code = getattr(getattr(function, "func", function), "__code__", None)
            place = f" of {code.co_filename}, line {code.co_firstlineno}" if code else ""
            raise ValueError(
                f"The metric {metric.shown!r}{place} must return a finite number{where}. Received: "
                f"{each if isinstance(each, Real | None) else type(each).__name__}"
            )
    return [float(each) for each in numbers]
