"""Reads and writes text files, compressed or not.

When a file is read, its first bytes determine the compression, not its name. When a file is
written, its name determines the compression. Compressed files are read as streams, so they may be
larger than memory.
"""

import bz2
import codecs
import contextlib
import functools
import gzip
import io
import lzma
import re
import types
import zlib
from pathlib import Path

from pipelines.checks import SourceError

START = 4096  # bytes examined to tell UTF-8 text from UTF-16 and other files
BUFFER = 1 << 17  # bytes decompressed at a time

# {name: (pattern of the first bytes, function that opens the contents of a compressed file)}
READABLE = {
    "gzip": (rb"\x1f\x8b", lambda file: gzip.GzipFile(fileobj=file)),
    "bzip2": (rb"BZh[1-9](1AY&SY|\x17rE8P\x90)", bz2.BZ2File),
    "xz": (rb"\xfd7zXZ\0|\x5d\0\0", lzma.LZMAFile),
}
# {name: (pattern of the first bytes, command that decompresses to standard output)}
UNREADABLE = {
    "zstd": (rb"\x28\xb5\x2f\xfd", "zstd -dc"),
    "zip": (rb"PK\x03\x04", "unzip -p"),
    "lz4": (rb"\x04\x22\x4d\x18", "lz4 -dc"),
    "7z": (rb"7z\xbc\xaf\x27\x1c", "7z x -so"),
    "compress": (rb"\x1f\x9d", "zcat"),
}
# {suffix: function that wraps an open file for compression}. The same text always yields the same
# compressed bytes.
WRITABLE = {
    ".gz": lambda file: gzip.GzipFile("", "wb", 6, file, mtime=0),
    ".bz2": functools.partial(bz2.BZ2File, mode="wb"),
    ".xz": functools.partial(lzma.LZMAFile, mode="wb"),
}
UNWRITABLE = (".zst", ".zstd", ".zip", ".lz4", ".7z", ".z", ".lzma")


@contextlib.contextmanager
def opened(path):
    """Opens a text file for reading bytes; see `text_in`."""
    with open(path, "rb") as file:
        yield text_in(file, path)


def text_in(file, name="standard input"):
    """Returns a binary file that reads the text in an open file, decompressed if necessary.

    Raises `SourceError` unless the contents are text in UTF-8 or a similar encoding. A terminal is
    returned unchanged.

    Args:
        file: a binary file. It may be a pipe.
        name: name of the file in messages.
    """
    if file.isatty():
        return file
    file = file if hasattr(file, "peek") else io.BufferedReader(file)
    if form := form_of(file.peek(START), READABLE):
        # `read1` does not wait for a full buffer, so a pipe's text is available as it is written.
        part = file if file.seekable() else types.SimpleNamespace(read=file.read1)
        file = io.BufferedReader(Decompressed(READABLE[form][1](part), file, name), BUFFER)
        if form_of(file.peek(START), READABLE):
            raise SourceError(f"{name} is compressed twice. Decompress it once")
    start = file.peek(START)[:START]
    if form := form_of(start, UNREADABLE):
        raise SourceError(
            f"{name} is compressed with {form}, which is not read here. Decompress it first, or "
            f"give it as standard input: {UNREADABLE[form][1]} FILE | …"
        )
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        raise SourceError(
            f"{name} is UTF-16 or UTF-32. Convert it, for example with `iconv -f UTF-16 -t UTF-8`"
        )
    return file


def form_of(start, forms):
    """Returns the name of the format that these first bytes indicate, or None."""
    return next((name for name, (magic, _) in forms.items() if re.match(magic, start)), None)


class Decompressed(io.RawIOBase):
    """The contents of a compressed file, read by `file`. All damage raises the same error."""

    def __init__(self, file, compressed, name):
        self.file, self.compressed, self.name = file, compressed, name

    def readable(self):
        return True

    def seekable(self):
        return self.compressed.seekable()

    def readinto(self, buffer):
        with damage_reported(self.name):
            part = self.file.read1(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def seek(self, offset, whence=io.SEEK_SET):
        with damage_reported(self.name):
            return self.file.seek(offset, whence)

    def tell(self):
        return self.file.tell()


@contextlib.contextmanager
def damage_reported(name):
    """Converts errors about damaged compressed files into a `SourceError`."""
    try:
        yield
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # an error of the operating system
        raise SourceError(
            f"{name} is compressed, but incomplete or damaged ({error}). Download or compress it "
            "again"
        ) from error


def compressing(path):
    """Returns a function that wraps a binary file in a context manager for a compressed one.

    Rejects the suffixes of formats that are not written here.

    Args:
        path: path whose suffix determines the compression, such as "out.gz"; or none.
    """
    suffix = Path(path).suffix.lower()
    if suffix in UNWRITABLE:
        raise ValueError(
            f"Output is compressed for names in {', '.join(WRITABLE)} only. Received: {path}. Give "
            "a different name, or write to standard output and compress that"
        )
    return WRITABLE.get(suffix, contextlib.nullcontext)
