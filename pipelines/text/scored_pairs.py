"""Sentence pairs with scores. Only pairs with high scores are kept.

Line n of a file of scores begins with the score of pair n: larger is better. `t2t-score --reverse`
writes such a file; other programs may, too.
"""

import array
import itertools
import math

from pipelines.checks import SourceError
from pipelines.printable import shown
from pipelines.text.sources import Lines, digest_of


class ScoredPairs:
    """A source of (source, target, whether the score is high enough).

    Args:
        source: a source of pairs, see `sources.py`.
        scores: the files of scores, as for `find_files`.
        min_score: minimum score of a pair. None: `best` decides.
        best: share of all pairs to keep, those with the highest scores. Equal scores are kept
            together, so that a few more may be.
    """

    def __init__(self, source, scores, min_score=None, best=None):
        if min_score is None and not 0 < best <= 1:
            raise ValueError(f"`best` must be above 0 and at most 1. Received: best={best}")
        self.source, self.lines = source, Lines("scores", scores)
        self.languages = getattr(source, "languages", None)
        self.files = getattr(source, "files", [])  # of the text, if it is from files
        values, self.min_score = array.array("d", self.scores()), min_score
        if min_score is None:
            kept = math.ceil(round(best * len(values), 6))  # 0.07 * 100 is a little more than 7
            self.min_score = sorted(values, reverse=True)[kept - 1] if kept else math.inf

    def __iter__(self):
        missing = object()
        for pair, score in itertools.zip_longest(self.source, self.scores(), fillvalue=missing):
            if pair is missing or score is missing:
                scores, pairs = (sum(1 for _ in each) for each in (self.lines, self.source))
                raise SourceError(
                    f"There must be a score for each pair: line n of {self.lines} is about pair n. "
                    f"Received: {scores:,} scores of {pairs:,} pairs"
                )
            yield *pair, score >= self.min_score

    def scores(self):
        """Yields the score at the beginning of each line, which a tab may end."""
        for number, line in enumerate(self.lines, start=1):
            try:
                score = float(line.partition(b"\t")[0])
            except ValueError:
                score = math.nan
            if math.isnan(score):
                raise SourceError(
                    f"{self.lines}, line {number}: a line of scores must begin with a number, as "
                    f"t2t-score --reverse writes them. Received: {shown(line)}"
                )
            yield score

    def fingerprint(self):
        """Returns digests of the text and of the scores, and the minimum score."""
        scores = {"scores": digest_of(self.lines.files), "min_score": self.min_score}
        return self.source.fingerprint() | scores
