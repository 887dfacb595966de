"""Columns: values beside each pair, such as a weight or word alignments, and the kinds they have.

    t2t-prepare --source=train.en --target=train.de --column=weights=weights.txt --output=data/ende

Line n of a column's file is about pair n. The values are stored beside the pairs, and a batch hands
them on by name: to the model and the loss as arrays, which `Kind.batch` makes.

A plug-in file adds a column with `COLUMNS["age"] = Number(missing=0)`.
"""

import dataclasses
import itertools
import math
import re

import numpy as np

from pipelines.checks import SourceError, check
from pipelines.printable import shown
from pipelines.registry import Registry
from pipelines.text.sources import Lines, digest_of

LARGEST = float(np.finfo("float32").max)
LINK = re.compile(rb"([0-9]{1,9})-([0-9]{1,9})")


@dataclasses.dataclass(frozen=True)
class Numbers:
    """A list of numbers, separated by spaces; in a batch float32 `[rows, longest]`, then zeros."""

    missing = ()
    dtype = "float32"

    def values(self, line, pair):
        """Returns the values in a line as a list of numbers. Raises `ValueError` if it is wrong.

        Args:
            line: the line, in bytes.
            pair: source and target, in bytes.
        """
        return floats_in(line)

    def encode(self, lines, tokenizer):
        """Returns an array of values for each line."""
        return [np.array(self.values(line, None), self.dtype) for line in lines]

    def batch(self, rows, words):
        """Returns the array of a batch.

        Args:
            rows: the values of each row, `[rows, longest]`, padded with NaN.
            words: function of a side that returns the index of the word of each of its positions,
                `[rows, width]`, which is -1 where there is no word.
        """
        # A power of two, because XLA compiles a step anew for each width.
        width = max(1, 1 << max(rows.shape[1] - 1, 0).bit_length())
        rows = np.pad(rows, [(0, 0), (0, width - rows.shape[1])])
        return np.nan_to_num(rows).astype(self.dtype)


@dataclasses.dataclass(frozen=True)
class Number(Numbers):
    """One number for each pair; in a batch float32 `[rows]`.

    Args:
        missing: the number of the pairs of a corpus without this column. None: all corpora of a mix
            must have it.
        at_least: its minimum.
    """

    missing: float | None = None
    at_least: float = -math.inf

    def values(self, line, pair):
        numbers = floats_in(line)
        if len(numbers) != 1 or numbers[0] < self.at_least:
            least = f" of at least {self.at_least:g}" if self.at_least > -math.inf else ""
            raise ValueError(f"must be one number{least}")
        return numbers

    def batch(self, rows, words):
        numbers = rows[:, 0] if rows.shape[1] else np.full(len(rows), np.nan)
        return np.where(np.isnan(numbers), self.missing or 0, numbers).astype(self.dtype)


@dataclasses.dataclass(frozen=True)
class Text(Numbers):
    """A text; in a batch its ids as int32 `[rows, longest]`, without an end token, then zeros.

    Args:
        side: the side of the vocabulary that encodes it.
    """

    side: str = "source"
    dtype = "int32"

    def values(self, line, pair):
        try:
            line.decode()
        except UnicodeDecodeError:
            raise ValueError("must be UTF-8") from None
        return []

    def encode(self, lines, tokenizer):
        return getattr(tokenizer, self.side).encode([line.decode() for line in lines])


@dataclasses.dataclass(frozen=True)
class Alignments(Numbers):
    """Links of words, such as `0-0 1-2`, in a batch uint8 `[rows, width, width]`.

    The indices count the words of source and target, which spaces separate, from 0, as fast_align
    and eflomal write them. Element (row, j, i) is 1 if the word of target position j is linked to
    the word of source position i. Position j is where the model predicts that piece.
    """

    dtype = "int32"

    def values(self, line, pair):
        links = []
        for word in line.split():
            found = LINK.fullmatch(word)
            if not found:
                raise ValueError("must be links such as 0-0 1-2")
            links += map(int, found.groups())
        for side, text, indices in zip(("source", "target"), pair or (), (0, 1), strict=False):
            count = len(text.decode(errors="replace").split())
            if (last := max(links[indices::2], default=-1)) >= count:
                raise ValueError(
                    f"links word {last} of the {side}, which has {count} words, counted from 0"
                )
        return links

    def batch(self, rows, words):
        links = np.nan_to_num(rows, nan=-1).astype(int).reshape(len(rows), -1, 2)
        words = {side: words(side) for side in ("source", "target")}
        shape = (words[side].max(initial=-1) + 2 for side in ("target", "source"))
        linked = np.zeros((len(rows), *shape), "uint8")
        source, target = links[..., 0], links[..., 1]
        # A text may have fewer words than its links if it was truncated.
        inside = (source >= 0) & (source < linked.shape[2] - 1) & (target < linked.shape[1] - 1)
        row = np.arange(len(rows))[:, None]
        linked[(row + 0 * source)[inside], target[inside], source[inside]] = 1
        # Index -1 is the last row and column, which have no link.
        return linked[row[..., None], words["target"][:, :, None], words["source"][:, None, :]]


# {name of a column: its kind}
COLUMNS = Registry(
    "COLUMNS", "column", {"weights": Number(missing=1, at_least=0), "alignments": Alignments()}
)


class ColumnedPairs:
    """A source of (source, target, whether its score is high enough, lines of the columns).

    Args:
        source: a source of pairs, see `sources.py`.
        columns: {name in `COLUMNS`: its files, as for `find_files`}.

    Attributes:
        kinds: {name: kind} of the columns.
    """

    def __init__(self, source, columns):
        self.source, self.kinds = source, {name: COLUMNS[name] for name in columns}
        for name in columns:
            is_free = name.isidentifier() and name not in ("source", "target")
            allowed = "a name of letters, digits and _, but not source or target"
            check(is_free, "column", name, allowed)
        self.lines = {name: Lines(f"column {name}", files) for name, files in columns.items()}
        self.languages = getattr(source, "languages", None)
        self.files = getattr(source, "files", [])

    def __iter__(self):
        rows = itertools.zip_longest(self.source, *self.lines.values())
        for number, (pair, *lines) in enumerate(rows, start=1):
            for (name, files), line in zip(self.lines.items(), lines, strict=True):
                if None in (pair, line):
                    values, pairs = (sum(1 for _ in each) for each in (files, self.source))
                    raise SourceError(
                        f"Line n of {files} is about pair n, so there must be a line for each "
                        f"pair. Received: {values:,} lines for {pairs:,} pairs"
                    )
                try:
                    self.kinds[name].values(line, pair[:2])
                except ValueError as error:
                    raise SourceError(
                        f"{files}, line {number:,}: the column {name!r} {error}. Received: "
                        f"{shown(line)}"
                    ) from error
            yield *pair[:2], *(pair[2:] or (True,)), tuple(lines)

    def fingerprint(self):
        """Returns digests of the text and of each column."""
        own = {f"column {name}": digest_of(files.files) for name, files in self.lines.items()}
        return self.source.fingerprint() | own

    def symbols(self):
        return self.source.symbols() if hasattr(self.source, "symbols") else ()


def floats_in(line):
    """Returns the numbers in a line. Raises `ValueError` if there is something else."""
    try:
        numbers = [float(word) for word in line.split()]
    except ValueError:
        numbers = [math.nan]
    if not all(abs(number) <= LARGEST for number in numbers):
        raise ValueError(f"must have nothing but numbers, up to {LARGEST:.1e}")
    return numbers
