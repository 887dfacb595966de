"""Sources of sentence pairs: text files, tab-separated files, Python iterables; pairs with scores.

A source is an iterable of pairs of bytes that can be read repeatedly. Its `fingerprint()` changes
when the text changes. Because pairs are bytes, a line that is not UTF-8 does not stop reading: the
cleaning drops and counts it. Wrong input raises a `SourceError` that names the file and the line.
`tfds_source.py` reads TensorFlow Datasets.
"""

import array
import hashlib
import itertools
import math

from pipelines.checks import SourceError, check
from pipelines.languages.language_codes import language_of_files
from pipelines.printable import shown
from pipelines.text.opened_text import find_files, opened

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some programs write it at the start of a UTF-8 file
# Starts of files in SGML or XML.
MARKUP = (b"<srcset", b"<refset", b"<tstset", b"<!doctype", b"<?xml", b"<doc ")


class Lines:
    """The lines of several files in bytes, without their line ends. They can be read repeatedly.

    Args:
        name: description of the files for messages, such as "source".
        paths: see `find_files`. Compressed files are decompressed while reading.
    """

    def __init__(self, name, paths):
        self.files = find_files(name, paths)

    def __iter__(self):
        return lines_of(self.files)

    def __str__(self):
        more = f" and {len(self.files) - 1} more files" if len(self.files) > 1 else ""
        return f"{self.files[0]}{more}"


class TextFiles:
    """Line-aligned text files: line n of the target translates line n of the source.

    Args:
        source, target: a path, a glob, or several of them separated by commas, see `find_files`.
            Compressed files are decompressed while reading. The matches of a glob are read in the
            order of their names.
    """

    def __init__(self, source, target):
        self.sides = Lines("source", source), Lines("target", target)

    @property
    def files(self):
        """The files of both sides."""
        return [file for side in self.sides for file in side.files]

    @property
    def languages(self):
        """The languages that the files are named after, or None."""
        found = tuple(language_of_files(side.files) for side in self.sides)
        return found if all(found) and found[0] != found[1] else None

    def __iter__(self):
        source, target = self.sides
        for pair in itertools.zip_longest(source, target):
            if None in pair:
                counts = [sum(1 for _ in side) for side in self.sides]
                raise SourceError(
                    f"Source and target must have the same number of lines: {source} has "
                    f"{counts[0]:,}, {target} has {counts[1]:,}. Line n of one is the translation "
                    "of line n of the other. Find where they diverge, for example with `paste`"
                )
            yield pair

    def fingerprint(self):
        """Returns a digest of the text of each side."""
        source, target = (digest_of(side.files) for side in self.sides)
        return {"source text": source, "target text": target}


class TabSeparatedFile:
    """A file with one pair per line: source, tab, target. Further columns are ignored.

    An empty line is a pair with empty sides.

    Args:
        path: see `find_files`.
        name: name to record in place of the path.
    """

    def __init__(self, path, name=None):
        self.lines, self.name = Lines("pairs", path), name
        self.files = self.lines.files

    def __iter__(self):
        for number, line in enumerate(self.lines, start=1):
            columns = line.split(b"\t") if line else [b"", b""]
            if len(columns) < 2:
                raise SourceError(
                    f"{self.lines}, line {number}: a pair needs a tab between source and target. "
                    f"Received: {shown(line)}"
                )
            yield columns[0], columns[1]

    def fingerprint(self):
        """Returns a digest of the text."""
        return {"text": digest_of(self.files)}


class Pairs:
    """Pairs of strings from a list, or from a function that returns an iterable of pairs."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __iter__(self):
        pairs = self.pairs() if callable(self.pairs) else self.pairs
        if iter(pairs) is pairs and not callable(self.pairs):
            raise SourceError(
                "Pairs are read more than once, so they must be a list or a function that returns "
                f"an iterator. Received: {type(pairs).__name__}, which can be read only once"
            )
        for number, pair in enumerate(pairs, start=1):
            is_pair = isinstance(pair, tuple | list) and len(pair) == 2
            if not is_pair or not all(isinstance(text, str | bytes) for text in pair):
                raise SourceError(
                    f"Pair {number} must be (source, target), two texts. Received: {pair!r}"
                )
            # An unpaired surrogate becomes malformed UTF-8, which the cleaning handles.
            yield tuple(
                text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
                for text in pair
            )

    def fingerprint(self):
        """Returns a digest of the pairs."""
        digest = hashlib.blake2b(digest_size=16)
        for pair in self:
            digest.update(b"\n".join(pair) + b"\n\n")
        return {"pairs": digest.hexdigest()}


class ScoredPairs:
    """A source of (source, target, whether the score is high enough).

    Line n of a file of scores begins with the score of pair n: larger is better. `t2t-score
    --reverse` writes such a file; other programs may also write one.

    Args:
        source: a source of pairs, see `sources.py`.
        scores: the files of scores, as for `find_files`.
        min_score: minimum score of a pair. None: `best` decides.
        best: share of all pairs to keep, those with the highest scores. Equal scores are kept
            together, so that a few more may be.
    """

    def __init__(self, source, scores, min_score=None, best=None):
        check(min_score is not None or 0 < best <= 1, "best", best, "above 0 and at most 1")
        self.source, self.lines = source, Lines("scores", scores)
        self.languages = getattr(source, "languages", None)
        self.files = getattr(source, "files", [])  # of the text, if it is from files
        values, self.min_score = array.array("d", self.scores()), min_score
        if min_score is None:
            kept = math.ceil(round(best * len(values), 6))  # 0.07 * 100 is a little more than 7
            self.min_score = sorted(values, reverse=True)[kept - 1] if kept else math.inf

    def __iter__(self):
        for pair, score in itertools.zip_longest(self.source, self.scores()):
            if None in (pair, score):
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


def digest_of(files):
    """Returns a digest of the contents of files, independent of their names and dates."""
    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def lines_of(files):
    """Yields the lines of several files, without their line ends."""
    for path in files:
        with opened(path) as file:
            first = file.readline().removeprefix(BYTE_ORDER_MARK)
            if first.lstrip(b" \t").lower().startswith(MARKUP):
                raise SourceError(
                    f"{path} is SGML or XML, not one sentence per line: {shown(first)}. "
                    "Extract the text of its <seg> elements first, one per line"
                )
            for line in itertools.chain([first] if first else [], file):
                yield line.rstrip(b"\r\n")
