"""Text is read alike however it is compressed; other files are refused by their first bytes."""

import bz2
import functools
import gzip
import io
import lzma
import os
import threading

import pytest

from pipelines.checks import SourceError
from pipelines.text.opened_text import compressing, find_files, opened, text_in

TEXT = "Ein Männchen\r\n\n日本語\n".encode() * 9999
gzipped = functools.partial(gzip.compress, mtime=0)  # without the time, in names of tests
COMPRESSED = {
    "gzip": gzipped,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda contents: lzma.compress(contents, lzma.FORMAT_ALONE),
    "plain": bytes,
}


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_the_first_bytes_decide_how_a_file_and_a_pipe_are_read(tmp_path, compress):
    file = tmp_path / "text"
    file.write_bytes(compress(TEXT[:90]) + compress(TEXT[90:]))
    with opened(file) as lines:
        assert lines.read() == TEXT
        assert lines.seek(60) == 60 and lines.readline() == TEXT[60:].splitlines(True)[0]
    reader, writer = os.pipe()

    def write():
        with open(writer, "wb", buffering=0) as pipe:
            pipe.write(compress(TEXT))

    thread = threading.Thread(target=write)
    thread.start()
    with open(reader, "rb") as pipe:
        assert list(text_in(pipe)) == TEXT.splitlines(True)
    thread.join()


def test_a_line_of_a_pipe_is_read_before_the_next_is_written():
    reader, writer = os.pipe()
    with open(reader, "rb") as pipe, open(writer, "wb", buffering=0) as end:
        end.write(b"A dog.\n")
        lines = []
        thread = threading.Thread(target=lambda: lines.append(text_in(pipe).readline()))
        thread.start()
        thread.join(5)
        assert lines == [b"A dog.\n"]


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("Ein Satz.\n".encode("utf-16"), "is UTF-16 or UTF-32.*iconv -f UTF-16 -t UTF-8 FILE"),
        (gzipped(gzipped(b"A sentence.\n")), "is compressed twice"),
        (b"\x28\xb5\x2f\xfd\x04\x58", "is compressed with zstd.*zstd -dc FILE"),
        (gzipped(TEXT)[:-9], "is compressed, but incomplete or damaged.*end-of-stream"),
        (gzipped(TEXT)[:-8] + bytes(8), "is compressed, but incomplete or damaged.*CRC"),
    ],
)
def test_files_that_are_no_text_are_refused_by_name(tmp_path, contents, message):
    file = tmp_path / "text"
    file.write_bytes(contents)
    with pytest.raises(SourceError, match=f"{file} {message}"), opened(file) as lines:
        lines.read()
    with pytest.raises(SourceError, match=f"standard input {message}"):
        text_in(io.BytesIO(contents)).read()


@pytest.mark.parametrize(
    "contents",
    [
        *(b"", b"\n", b"]", b"BZh9 is a word\n", b"a\0b\n", bytes(10) + b"\n\xef\xbf\xbd\n"),
        *("\ufeffEin Männchen\n".encode(), "Ein Männchen\n".encode("latin1")),
        "我住在上海\n".encode("gb18030"),
    ],
)
def test_other_bytes_are_text(contents):
    assert text_in(io.BytesIO(contents)).read() == contents


@pytest.mark.parametrize(
    ("name", "read"),
    [("a.gz", gzip.open), ("a.BZ2", bz2.open), ("a.de.xz", lzma.open), ("gz", open)],
)
def test_the_name_of_an_output_decides_whether_it_is_compressed(tmp_path, name, read):
    file = tmp_path / "output"
    with open(file, "wb") as output, compressing(name)(output) as lines:
        lines.write(b"one\n")
    with read(file, "rb") as lines:
        assert lines.read() == b"one\n"
    with pytest.raises(ValueError, match=r"names in .gz, .bz2, .xz only. Received: out.zst"):
        compressing("out.zst")


@pytest.fixture
def listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("data1.en", "data2.en", "data[1].en", "a,b.en", "a", "c"):
        (tmp_path / name).write_text(name)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("data?.en", ["data1.en", "data2.en"]),
        ("data[2].en", ["data2.en"]),
        ("a,b.en", ["a,b.en"]),
        ("data[1].en,data*.en,a", ["data[1].en", "data1.en", "data2.en", "data[1].en", "a"]),
        ("a,c", ["a", "c"]),
    ],
)
@pytest.mark.usefixtures("listed")
def test_a_path_that_exists_is_that_file_and_the_rest_are_lists_and_globs(given, found):
    assert [str(path) for path in find_files("source", given)] == found


@pytest.mark.usefixtures("listed")
def test_missing_files_are_named():
    with pytest.raises(ValueError, match=r"There is no source file b\.en"):
        find_files("source", "a,c,b.en")
    with pytest.raises(ValueError, match="no file matches that pattern"):
        find_files("source", "*.fr")
