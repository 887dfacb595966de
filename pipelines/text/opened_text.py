"""Finds, reads and writes text files, compressed or not.

When a file is read, its first bytes determine the compression, not its name. When a file is
written, its name determines the compression. Compressed files are read as streams, so they may be
larger than memory.
"""

import bz2
import contextlib
import functools
import glob
import gzip
import io
import lzma
import os
import re
import zlib
from pathlib import Path

from pipelines.checks import SourceError

START = 16  # bytes examined to recognize the format
BUFFER = 1 << 17  # bytes decompressed at a time

GZIP, BZIP2 = rb"\x1f\x8b", rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"
XZ = rb"\xfd7zXZ\0|\x5d\0\0"
# {pattern of the first bytes: function that opens the contents of a compressed file}
READABLE = {GZIP: lambda file: gzip.GzipFile(fileobj=file), BZIP2: bz2.BZ2File, XZ: lzma.LZMAFile}
# {pattern of the first bytes: (format, command that writes the text to standard output)}
UNREADABLE = {
    rb"\x28\xb5\x2f\xfd": ("compressed with zstd", "zstd -dc"),
    rb"PK\x03\x04": ("compressed with zip", "unzip -p"),
    rb"\x04\x22\x4d\x18": ("compressed with lz4", "lz4 -dc"),
    rb"7z\xbc\xaf\x27\x1c": ("compressed with 7z", "7z x -so"),
    rb"\xff\xfe|\xfe\xff|\0\0\xfe\xff": ("UTF-16 or UTF-32", "iconv -f UTF-16 -t UTF-8"),
    rb"|".join((GZIP, BZIP2, XZ)): ("compressed twice", "zcat"),
}
# {suffix: function that wraps an open file for compression}. The same text always yields the same
# compressed bytes.
WRITABLE = {
    ".gz": lambda file: gzip.GzipFile("", "wb", 6, file, mtime=0),
    ".bz2": functools.partial(bz2.BZ2File, mode="wb"),
    ".xz": functools.partial(lzma.LZMAFile, mode="wb"),
}
UNWRITABLE = (".zst", ".zstd", ".zip", ".lz4", ".7z", ".z", ".lzma")


def split_list(text):
    """Returns the items of a comma-separated list. An existing path is one item."""
    return [text] if os.path.exists(text) else text.split(",")


def find_files(name, paths):
    """Returns the files that a path, a glob, or a comma-separated list of them denotes.

    A path that exists is that file, even if it contains commas or brackets. `name` describes the
    files in messages, such as "source".
    """
    files = []
    for item in split_list(str(paths)):
        matches = [] if os.path.exists(item) else sorted(glob.glob(item))
        files += map(Path, matches or [item])
    for path in files:
        if path.is_dir():
            raise SourceError(f"The {name} text must be a file. Received: the folder {path}")
        if not path.is_file():
            raise SourceError(f"There is no {name} file {path}, and no file matches that pattern")
    return files


@contextlib.contextmanager
def opened(path):
    """Opens a text file for reading bytes; see `text_in`."""
    with open(path, "rb") as file:
        yield text_in(file, path)


def text_in(file, name="standard input"):
    """Returns a binary file that reads the text in an open file, decompressed if necessary.

    Raises `SourceError` unless the contents are text in UTF-8 or a similar encoding. The file may
    be a pipe; a terminal is returned unchanged. `name` is the name in messages.
    """
    if file.isatty():
        return file
    file = file if hasattr(file, "peek") else io.BufferedReader(file)
    for magic, decompressed in READABLE.items():
        if re.match(magic, file.peek(START)):
            contents = Decompressed(decompressed(file), file.seekable, name)
            file = io.BufferedReader(contents, BUFFER)
            break
    start = file.peek(START)[:START]
    for magic, (form, command) in UNREADABLE.items():
        if re.match(magic, start):
            raise SourceError(
                f"{name} is {form}, which is not supported. Convert it first, or give it as "
                f"standard input: {command} FILE | …"
            )
    return file


class Decompressed(io.RawIOBase):
    """The contents of a compressed file. All damage raises the same error."""

    def __init__(self, file, seekable, name):
        self.file, self.name = file, name
        self.seekable, self.readable = seekable, file.readable
        self.seek, self.tell = file.seek, file.tell

    def readinto(self, buffer):
        try:
            part = self.file.read1(len(buffer))
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            if getattr(error, "errno", None) is not None:
                raise  # an error of the operating system
            raise SourceError(
                f"{self.name} is compressed, but incomplete or damaged ({error}). Download or "
                "compress it again"
            ) from error
        buffer[: len(part)] = part
        return len(part)


def compressing(path):
    """Returns a function that wraps a binary file in a context manager for a compressed one.

    The suffix of the path, such as "out.gz", determines the compression. Rejects the suffixes of
    formats that are not written here.
    """
    suffix = Path(path).suffix.lower()
    if suffix in UNWRITABLE:
        raise ValueError(
            f"Output is compressed for names in {', '.join(WRITABLE)} only. Received: {path}. Give "
            "a different name, or write to standard output and compress that"
        )
    return WRITABLE.get(suffix, contextlib.nullcontext)
