"""Sentence pairs with scores. Only pairs with high scores are kept.

Line n of a file of scores begins with the score of pair n: larger is better. `t2t-score --reverse`
writes such a file; other programs may, too.
"""

import array
import itertools
import math

from pipelines.checks import SourceError
from pipelines.printable import shown
from pipelines.text.file_lists import find_files
from pipelines.text.sources import digest_of, line_starts, lines_of


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
        self.source, self.score_files = source, find_files("scores", scores)
        values = array.array("d", scores_in(numbered_lines(self.score_files)))
        self.count, self.min_score = len(values), min_score
        if min_score is None:
            kept = math.ceil(round(best * len(values), 6))  # 0.07 * 100 is a little more than 7
            self.min_score = sorted(values, reverse=True)[kept - 1] if kept else math.inf

    @property
    def languages(self):
        return getattr(self.source, "languages", None)

    @property
    def files(self):
        """The files of the text, if it is from files."""
        return getattr(self.source, "files", [])

    def __iter__(self):
        number, missing = 0, object()
        scores = scores_in(numbered_lines(self.score_files))
        zipped = itertools.zip_longest(self.source, scores, fillvalue=missing)
        for number, (pair, score) in enumerate(zipped, start=1):
            if pair is missing or score is missing:
                pairs = number - 1 if pair is missing else number + sum(1 for _ in zipped)
                raise SourceError(
                    "There must be a score for each pair: line n of "
                    f"{self.score_files[0]} is about pair n. "
                    f"Received: {self.count:,} scores of {pairs:,} pairs"
                )
            yield *pair, score >= self.min_score

    def chunks(self, size):
        """Returns sources of `size` pairs each, which can be read independently of each other."""
        for _ in self:  # checks that the numbers of pairs and scores are the same
            pass
        parts = zip(self.source.chunks(size), line_starts(self.score_files, size), strict=True)
        return [PartOfScoredPairs(part, start, size, self.min_score) for part, start in parts]

    def fingerprint(self):
        """Returns digests of the text and of the scores, and the minimum score."""
        scores = {"scores": digest_of(self.score_files), "min_score": self.min_score}
        return self.source.fingerprint() | scores


class PartOfScoredPairs:
    """Consecutive pairs with scores.

    Args:
        source: the part of the pairs.
        start: the position of its first score, as (files, byte offset), see `line_starts`.
        size: maximum number of pairs.
        min_score: minimum score of a pair.
    """

    def __init__(self, source, start, size, min_score):
        self.source, self.start, self.size, self.min_score = source, start, size, min_score

    def __iter__(self):
        files, byte = self.start
        lines = enumerate(itertools.islice(lines_of(files, byte), self.size), start=1)
        scores = scores_in((files[0], number, line) for number, line in lines)
        for pair, score in zip(self.source, scores, strict=True):
            yield *pair, score >= self.min_score


def numbered_lines(files):
    """Yields (path, line number, line) for each line of several files."""
    for path in files:
        for number, line in enumerate(lines_of([path]), start=1):
            yield path, number, line


def scores_in(lines):
    """Yields the score at the beginning of each line, which a tab may end."""
    for path, number, line in lines:
        try:
            score = float(line.partition(b"\t")[0])
        except ValueError:
            score = math.nan
        if math.isnan(score):
            raise SourceError(
                f"{path}, line {number}: a line of scores must begin with a number, as t2t-score "
                f"--reverse writes them. Received: {shown(line)}"
            )
        yield score
