"""A user's functions as metrics with sacreBLEU's interface.

So they have sacreBLEU's bootstrap with its seed. Failures name the metric, the place and the line.
"""

import contextlib
import hashlib
import math
from numbers import Real
from pathlib import Path

from sacrebleu.metrics.base import Metric, Score, Signature

LONGEST = 200  # characters of an error in a message
OURS = (__file__, contextlib.__file__)


class LineMetric(Metric):
    """A metric of numbers that are summed over all lines, see `line_metric`."""

    def __init__(self, shown, function, score=None):
        super().__init__()
        self.shown, self.function, self.score = shown, function, score

    def get_signature(self):
        return signature_of(self, self.function)

    def _extract_corpus_statistics(self, hypotheses, references):
        self.line = 0
        statistics = super()._extract_corpus_statistics(hypotheses, references)
        widths = {len(each) for each in statistics}
        if len(widths) > 1:
            received = " and ".join(str(width - 1) for width in sorted(widths))
            raise ValueError(
                f"The metric {self.shown!r}{place_of(self.function)} must return equally many "
                f"numbers for each line. Received: {received}"
            )
        return statistics

    def _preprocess_segment(self, sent):
        return sent

    def _extract_reference_info(self, refs):
        return {"references": refs}

    def _compute_segment_statistics(self, hypothesis, ref_kwargs):
        """Returns the numbers of a line, and 1 to count the lines."""
        self.line += 1
        where = f" at line {self.line:,} ({hypothesis[:60]!r})"
        with failures_named(self.shown, where):
            numbers = self.function(hypothesis, list(ref_kwargs["references"]))
            numbers = [numbers] if self.score is None else list(numbers)
        for each in numbers:
            check_score(each, self.shown, self.function, where)
        return [*map(float, numbers), 1.0]

    def _aggregate_and_compute(self, stats):
        return self._compute_score_from_stats(
            [math.fsum(column) for column in zip(*stats, strict=True)]
        )

    def _compute_score_from_stats(self, stats):
        *sums, lines = map(float, stats)
        if self.score is None:
            return Score(f"own {self.shown}", sums[0] / lines)
        with failures_named(self.shown, " in `score`"):
            score = self.score(sums, lines)
        check_score(score, self.shown, self.score)
        return Score(f"own {self.shown}", float(score))


class CorpusMetric:
    """A metric of all lines at once, see `corpus_metric`."""

    def __init__(self, shown, function):
        self.shown, self.function = shown, function
        self.num_refs = None

    def get_signature(self):
        signature = signature_of(self, self.function)
        signature.update("bs", "none")
        return signature

    def corpus_score(self, hypotheses, references, n_bootstrap=1):
        """Returns sacreBLEU's `Score`, without an interval."""
        self.num_refs = len(references)
        with failures_named(self.shown):
            score = self.function(
                list(hypotheses), [list(line) for line in zip(*references, strict=True)]
            )
        check_score(score, self.shown, self.function)
        result = Score(self.shown, float(score))
        result._ci = None
        return result


def signature_of(metric, function):
    """Returns sacreBLEU's signature with the file of the function and its digest."""
    signature = Signature(vars(metric))
    if code := getattr(function, "__code__", None):
        with contextlib.suppress(OSError):
            digest = hashlib.sha256(Path(code.co_filename).read_bytes()).hexdigest()
            signature.update("file", f"{Path(code.co_filename).name}@{digest[:8]}")
    return signature


def check_score(value, shown, function, where=""):
    """Raises `ValueError` unless a value is a finite number."""
    if isinstance(value, Real) and math.isfinite(value):
        return
    received = repr(value) if isinstance(value, Real | None) else f"type {type(value).__name__}"
    raise ValueError(
        f"The metric {shown!r}{place_of(function)} must return a finite number{where}. Received: "
        f"{received}"
    )


@contextlib.contextmanager
def failures_named(shown, where=""):
    """Turns errors of a user's function into a `ValueError` of one line."""
    try:
        yield
    except MemoryError:
        raise
    except (Exception, SystemExit) as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST]
        place, traceback = "", error.__traceback__
        while traceback and not place:  # the outermost frame of the user's file
            file = traceback.tb_frame.f_code.co_filename
            if file not in OURS:
                place = f" ({file}, line {traceback.tb_lineno})"
            traceback = traceback.tb_next
        raise ValueError(f"The metric {shown!r} failed{where}: {message}{place}") from error


def place_of(function):
    """Returns " of FILE, line N", where a function is defined, or "" if that is unknown."""
    code = getattr(function, "__code__", None)
    return f" of {code.co_filename}, line {code.co_firstlineno}" if code else ""
