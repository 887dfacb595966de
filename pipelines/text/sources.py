"""Sources of sentence pairs: text files, tab-separated files, Python iterables.

A source is an iterable of pairs of bytes that can be read repeatedly. Its `fingerprint()` changes
when the text changes. Because pairs are bytes, a line that is not UTF-8 does not stop reading: the
cleaning drops and counts it. Wrong input raises a `SourceError` that names the file and the line.
`tfds_source.py` reads TensorFlow Datasets.
"""

import hashlib
import itertools

from pipelines.checks import SourceError
from pipelines.languages.language_codes import language_of_files
from pipelines.printable import shown
from pipelines.text.file_lists import find_files
from pipelines.text.opened_text import is_compressed, opened

BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some programs write it at the start of a UTF-8 file


class TextFiles:
    """Line-aligned text files: line n of the target translates line n of the source.

    Args:
        source, target: a path, a glob, or several of them separated by commas, see `find_files`.
            Compressed files are decompressed while reading. The matches of a glob are read in the
            order of their names.
    """

    def __init__(self, source, target):
        self.files = {
            "source": find_files("source", source),
            "target": find_files("target", target),
        }

    @property
    def languages(self):
        """The languages that the files are named after, or None."""
        found = tuple(language_of_files(self.files[side]) for side in ("source", "target"))
        return found if all(found) and found[0] != found[1] else None

    def __iter__(self):
        sides = [lines_of(self.files[side]) for side in ("source", "target")]
        number = 0
        for number, (source, target) in enumerate(itertools.zip_longest(*sides), start=1):
            if source is None or target is None:
                counts = [number - 1 + (line is not None) for line in (source, target)]
                longer = sides[0] if target is None else sides[1]
                counts[target is not None] += sum(1 for _ in longer)
                raise SourceError(
                    f"Source and target must have the same number of lines: {self.named('source')}"
                    f" has {counts[0]:,}, {self.named('target')} has {counts[1]:,}. Line n of one "
                    "is the translation of line n of the other. Find where they diverge, for "
                    "example with `paste`"
                )
            yield source, target
        if not number:
            raise SourceError(f"{self.named('source')} and {self.named('target')} are empty")

    def fingerprint(self):
        """Returns a digest of the text of each side."""
        return {f"{side} text": digest_of(files) for side, files in self.files.items()}

    def named(self, side):
        """Returns the name of one side's files, for messages."""
        files = self.files[side]
        return str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more files"

    def chunks(self, size):
        """Returns sources of `size` pairs each, which can be read independently of each other."""
        for _ in self:  # checks that both sides have the same number of lines
            pass
        sides = [line_starts(self.files[side], size) for side in ("source", "target")]
        return [PartOfFiles(starts, size) for starts in zip(*sides, strict=True)]


class TabSeparatedFile:
    """A file with one pair per line: source, tab, target. Further columns are ignored.

    An empty line is a pair with empty sides.

    Args:
        path: see `find_files`.
        name: name to record in place of the path.
    """

    def __init__(self, path, name=None):
        self.files, self.name = find_files("pairs", path), name

    def __iter__(self):
        is_empty = True
        for path in self.files:
            for number, line in enumerate(lines_of([path]), start=1):
                is_empty = False
                columns = line.split(b"\t") if line else [b"", b""]
                if len(columns) < 2:
                    raise SourceError(
                        f"{path}, line {number}: a pair needs a tab between source and target. "
                        f"Received: {shown(line)}"
                    )
                yield columns[0], columns[1]
        if is_empty:
            raise SourceError(f"{self.files[0]} is empty")

    def chunks(self, size):
        """Returns sources of `size` pairs each, which can be read independently of each other."""
        for _ in self:  # checks every line
            pass
        return [PartOfFiles([start], size) for start in line_starts(self.files, size)]

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
        number = 0
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
        if not number:
            raise SourceError("There must be at least one pair. Received: none")

    def fingerprint(self):
        """Returns a digest of the pairs."""
        digest = hashlib.blake2b(digest_size=16)
        for pair in self:
            digest.update(b"\n".join(pair) + b"\n\n")
        return {"pairs": digest.hexdigest()}


class PartOfFiles:
    """Consecutive pairs of line-aligned files or of a tab-separated file.

    Args:
        starts: for each side, the position of the first line, as (files, byte offset), see
            `line_starts`.
        size: number of lines.
    """

    def __init__(self, starts, size):
        self.starts = starts
        self.size = size

    def __iter__(self):
        lines = [itertools.islice(lines_of(files, byte), self.size) for files, byte in self.starts]
        if len(lines) == 1:
            return (tuple(line.split(b"\t")[:2]) if line else (b"", b"") for line in lines[0])
        return zip(*lines, strict=True)


def line_starts(files, size):
    """Returns the position of every `size`-th line.

    Returns:
        A list of (files, byte offset). The files start with the one that contains the line, and
        the offset is the line's position in that file.
    """
    starts, number = [], 0
    for index, path in enumerate(files):
        if is_compressed(path):
            raise SourceError(f"{path} cannot be read in parts. Decompress it first")
        byte = 0
        with open(path, "rb") as file:
            for line in file:
                if number % size == 0:
                    starts.append((files[index:], byte))
                number += 1
                byte += len(line)
    return starts


def digest_of(files):
    """Returns a digest of the contents of files, independent of their names and dates."""
    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def lines_of(files, byte=0):
    """Yields the lines of several files, without their line ends.

    Args:
        files: a list of paths.
        byte: byte offset of the first line in the first file.
    """
    for path in files:
        with opened(path) as file:
            file.seek(byte)
            is_first, byte = byte == 0, 0
            for line in file:
                if is_first:
                    is_first = False
                    check_is_no_markup(path, line)
                    line = line.removeprefix(BYTE_ORDER_MARK)
                yield line.rstrip(b"\r\n")


def check_is_no_markup(path, line):
    """Rejects files whose first line shows that they are SGML or XML."""
    start = line.lstrip(b"\xef\xbb\xbf \t").lower()
    if start.startswith((b"<srcset", b"<refset", b"<tstset", b"<!doctype", b"<?xml", b"<doc ")):
        raise SourceError(
            f"{path} is SGML or XML, not one sentence per line: {shown(line)}. Extract the text of "
            "its <seg> elements first, one per line"
        )
