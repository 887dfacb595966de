"""Where sentence pairs come from: text files, one tab-separated file, or a Python iterable.

Every source is an iterable of pairs of bytes, one pair a line, that can be read again from the
start, and has a `fingerprint()` by which a change is noticed. Bytes, because a line that is not
UTF-8 must be counted and dropped by the cleaning, not end the reading. Whatever is wrong with a
file is said with its name and line. TensorFlow Datasets: `tfds_source.py`.
"""

import glob
import gzip
import hashlib
import itertools
import zlib
from pathlib import Path


class SourceError(ValueError):
    """Something is wrong with what the user gave: the message says what and what to do."""


class TextFiles:
    """A pair of line-aligned text files, or as many on either side as a glob finds.

    Args:
        source, target: a path, a glob, or several of these separated by commas; `.gz` files are
            unpacked while reading. Files are read in the order of their names.
    """

    def __init__(self, source, target):
        self.files = {
            "source": find_files("source", source),
            "target": find_files("target", target),
        }

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
                    "is the translation of line n of the other; find where they part, for example "
                    "with `paste`"
                )
            yield source, target
        if not number:
            raise SourceError(f"{self.named('source')} and {self.named('target')} are empty")

    def fingerprint(self):
        """What tells one text from another."""
        return {f"{side} text": digest_of(files) for side, files in self.files.items()}

    def named(self, side):
        files = self.files[side]
        return str(files[0]) if len(files) == 1 else f"{len(files)} files from {files[0]} on"

    def chunks(self, size):
        """The same pairs in parts that can be read independently, each of `size` pairs."""
        for _ in self:  # as many lines on one side as on the other, or an error
            pass
        sides = [places_in(self.files[side], size) for side in ("source", "target")]
        return [PartOfFiles(places, size) for places in zip(*sides, strict=True)]


class TabSeparatedFile:
    """One file with a pair on each line: source, a tab, target. Further columns are ignored.

    An empty line is a pair with empty sides.
    """

    def __init__(self, path):
        self.files = find_files("pairs", path)

    def __iter__(self):
        found = False
        for path in self.files:
            for number, line in enumerate(lines_of([path]), start=1):
                found = True
                columns = line.split(b"\t") if line else [b"", b""]
                if len(columns) < 2:
                    raise SourceError(
                        f"{path}, line {number}: a pair needs a tab between source and target. "
                        f"Received: {shown(line)}"
                    )
                yield columns[0], columns[1]
        if not found:
            raise SourceError(f"{self.files[0]} is empty")

    def chunks(self, size):
        """The same pairs in parts that can be read independently, each of `size` pairs."""
        for _ in self:
            pass
        return [PartOfFiles([place], size) for place in places_in(self.files, size)]

    def fingerprint(self):
        """What tells one text from another."""
        return {"text": digest_of(self.files)}


class Pairs:
    """A Python iterable of (source, target) strings; a list, or a function that makes one."""

    def __init__(self, pairs):
        self.pairs = pairs

    def __iter__(self):
        pairs = self.pairs() if callable(self.pairs) else self.pairs
        if iter(pairs) is pairs and not callable(self.pairs):
            raise SourceError(
                "Pairs are read more than once (vocabulary, then encoding): give a list or a "
                f"function that returns an iterator. Received: {type(pairs).__name__}, which is "
                "spent after one reading"
            )
        number = 0
        for number, pair in enumerate(pairs, start=1):
            two = isinstance(pair, tuple | list) and len(pair) == 2
            if not two or not all(isinstance(text, str | bytes) for text in pair):
                raise SourceError(
                    f"Pair {number} must be (source, target), two texts. Received: {pair!r}"
                )
            # Half a surrogate pair is no UTF-8, which is the cleaning's business.
            yield tuple(
                text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
                for text in pair
            )
        if not number:
            raise SourceError("There are no pairs. Received: nothing")

    def fingerprint(self):
        """What tells one text from another."""
        digest = hashlib.blake2b(digest_size=16)
        for pair in self:
            digest.update(b"\n".join(pair) + b"\n\n")
        return {"pairs": digest.hexdigest()}


class PartOfFiles:
    """Some consecutive pairs of line-aligned files, or of one with tabs.

    Args:
        places: for each side (files, byte): where its first line begins.
        size: how many lines.
    """

    def __init__(self, places, size):
        self.places = places
        self.size = size

    def __iter__(self):
        lines = [itertools.islice(lines_of(files, byte), self.size) for files, byte in self.places]
        if len(lines) == 1:
            return (tuple(line.split(b"\t")[:2]) if line else (b"", b"") for line in lines[0])
        return zip(*lines, strict=True)


def places_in(files, size):
    """Where every `size`-th line begins: the files from its own on, and the byte in that one."""
    places, number = [], 0
    for index, path in enumerate(files):
        if path.suffix == ".gz":
            raise SourceError(f"{path} cannot be read in parts: unpack it first")
        byte = 0
        with open(path, "rb") as file:
            for line in file:
                if number % size == 0:
                    places.append((files[index:], byte))
                number += 1
                byte += len(line)
    return places


def find_files(side, paths):
    """The files that a path, a glob or a comma-separated list of these means, each checked."""
    files = []
    for pattern in str(paths).split(","):
        matches = sorted(glob.glob(pattern)) or [pattern]
        files += [Path(path) for path in matches]
    for path in files:
        if path.is_dir():
            raise SourceError(f"The {side} text must be a file. Received: the folder {path}")
        if not path.is_file():
            raise SourceError(f"There is no {side} file {path}, and no file matches that pattern")
    return files


def digest_of(files):
    """A digest of what is in some files, whatever their names and ages."""
    digest = hashlib.blake2b(digest_size=16)
    for path in files:
        with open(path, "rb") as file:
            digest.update(hashlib.file_digest(file, "blake2b").digest())
    return digest.hexdigest()


def lines_of(files, byte=0):
    """The lines of some files one after another, without their ends.

    Args:
        files: paths.
        byte: where to begin in the first file.
    """
    for path in files:
        opened = gzip.open if path.suffix == ".gz" else open
        try:
            with opened(path, "rb") as file:
                file.seek(byte)
                at_beginning, byte = byte == 0, 0
                for line in file:
                    if at_beginning:
                        at_beginning = False
                        refuse_markup(path, line)
                        line = line.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
                    yield line.rstrip(b"\r\n")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise SourceError(
                f"{path} is not a whole gzip file ({error}): fetch it again, or rename it if it "
                "is plain text"
            ) from error


def refuse_markup(path, line):
    """Test sets are often handed out as SGML or XML, whose lines are not sentences."""
    start = line.lstrip(b"\xef\xbb\xbf \t").lower()
    if start.startswith((b"<srcset", b"<refset", b"<tstset", b"<!doctype", b"<?xml", b"<doc ")):
        raise SourceError(
            f"{path} is SGML or XML, not one sentence a line: {shown(line)}. Take the text out of "
            "its <seg> elements first, one a line"
        )
    if line.startswith((b"\xff\xfe", b"\xfe\xff")) or 4 * line.count(0) > len(line) > 1:
        raise SourceError(
            f"{path} is UTF-16 or no text at all: {shown(line)}. Convert it, for example with "
            "`iconv -f UTF-16 -t UTF-8`"
        )
    if line.startswith(b"\x1f\x8b"):
        raise SourceError(f"{path} is packed with gzip: rename it so that it ends in .gz")


def shown(line, most=60):
    text = line.decode("utf-8", "replace").rstrip()
    return repr(text if len(text) <= most else text[:most] + "…")
