import gzip

import pytest

from pipelines.text.sources import Pairs, SourceError, TabSeparatedFile, TextFiles


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


def test_line_aligned_files_can_be_read_repeatedly(write):
    source = TextFiles(
        write("a.en", b"one\ntwo\r\n\nthree"), write("a.de", b"eins\nzwei\n\ndrei\n")
    )
    expected = [(b"one", b"eins"), (b"two", b"zwei"), (b"", b""), (b"three", b"drei")]
    assert list(source) == expected
    assert list(source) == expected


def test_only_newlines_end_a_line(write):
    text = "a\u2028b\x0bc\x0cd\x85e\rf".encode()
    assert list(TextFiles(write("a", text), write("b", b"x"))) == [(text, b"x")]


def test_compressed_files_globs_and_lists_are_read(write, tmp_path):
    write("1.en.gz", b"one\n")
    write("2.en", b"two\nthree\n")
    write("all.de", "\ufeffeins\nzwei\ndrei\n".encode())
    expected = [(b"one", b"eins"), (b"two", b"zwei"), (b"three", b"drei")]
    assert list(TextFiles(f"{tmp_path}/*.en*", tmp_path / "all.de")) == expected
    (tmp_path / "1.en.gz").rename(tmp_path / "1")  # the name does not matter
    listed = f"{tmp_path}/1,{tmp_path}/2.en"
    assert list(TextFiles(listed, tmp_path / "all.de")) == expected


@pytest.mark.parametrize(
    ("source", "target", "message"), [(3, 5, "3.* has 5"), (5, 3, "5.* has 3")]
)
def test_different_line_counts_are_named(write, source, target, message):
    files = TextFiles(write("a.en", b"x\n" * source), write("a.de", b"y\n" * target))
    with pytest.raises(SourceError, match=rf"a.en has {message}.*Find where they diverge"):
        list(files)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'<srcset setid="newstest2013">\n', "is SGML or XML, not one sentence per line"),
        (b'<?xml version="1.0"?>\n', "is SGML or XML"),
        ("one\n".encode("utf-16"), "is UTF-16, UTF-32 or not text.*iconv"),
    ],
    ids=["SGML", "XML", "UTF-16"],
)
def test_files_that_are_not_plain_text_are_refused(write, content, message):
    with pytest.raises(SourceError, match=rf"a.sgm {message}"):
        list(TextFiles(write("a.sgm", content), write("a.de", b"eins\n")))


def test_missing_and_empty_files_are_named(write, tmp_path):
    good = write("a.de", b"eins\n")
    with pytest.raises(SourceError, match=r"There is no source file .*none.en"):
        TextFiles(tmp_path / "none.en", good)
    with pytest.raises(SourceError, match="Received: the folder"):
        TextFiles(good, tmp_path)
    with pytest.raises(SourceError, match=r"empty.en has 0, .*a.de has 1"):
        list(TextFiles(write("empty.en", b""), good))
    with pytest.raises(SourceError, match="are empty"):
        list(TextFiles(write("empty.en", b""), write("empty.de", b"")))


def test_tab_separated_pairs_are_read(write):
    path = write("pairs.tsv", b"one\teins\ntwo\tzwei\tattribution\n\n")
    assert list(TabSeparatedFile(path)) == [(b"one", b"eins"), (b"two", b"zwei"), (b"", b"")]
    broken = write("broken.tsv", b"one\teins\ntwo zwei\n")
    with pytest.raises(SourceError, match=r"broken.tsv, line 2: .*tab.*Received: 'two zwei'"):
        list(TabSeparatedFile(broken))
    with pytest.raises(SourceError, match="is empty"):
        list(TabSeparatedFile(write("empty.tsv", b"")))


def test_chunks_hold_the_pairs_of_the_whole(write, tmp_path):
    write("1.en", b"a\nb\nc\n")
    write("2.en", b"d\ne\n")
    target = write("all.de", b"A\nB\nC\nD\nE\n")
    for source in (
        TextFiles(f"{tmp_path}/*.en", target),
        TabSeparatedFile(write("all.tsv", b"a\tA\nb\tB\n\nd\tD\te\nf\tF\n")),
    ):
        chunks = [list(chunk) for chunk in source.chunks(2)]
        assert [len(chunk) for chunk in chunks] == [2, 2, 1]
        assert [pair for chunk in chunks for pair in chunk] == list(source)


def test_python_pairs_are_encoded():
    expected = [("ä".encode(), b"b"), (b"\xff", b"d")]
    pairs = [("ä", "b"), [b"\xff", "d"]]
    assert list(Pairs(pairs)) == expected
    function = Pairs(lambda: iter(pairs))
    assert list(function) == list(function) == expected
    with pytest.raises(SourceError, match="can be read only once"):
        list(Pairs(iter(pairs)))
    with pytest.raises(SourceError, match="Pair 2 must be"):
        list(Pairs([("a", "b"), ("c",)]))
    with pytest.raises(SourceError, match="at least one pair"):
        list(Pairs([]))
