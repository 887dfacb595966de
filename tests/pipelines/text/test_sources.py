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


def test_line_aligned_files_can_be_read_repeatedly_and_only_newlines_end_a_line(write):
    text = "a\u2028b\x0bc\x0cd\x85e\rf".encode()
    files = write("a.en", b"one\r\n\n" + text), write("a.de", b"eins\n\ndrei\n")
    source = TextFiles(*files)
    assert list(source) == list(source) == [(b"one", b"eins"), (b"", b""), (text, b"drei")]


def test_compressed_files_globs_and_lists_are_read(write, tmp_path):
    write("1.en.gz", b"one\n")
    write("2.en", b"two\nthree\n")
    write("all.de", "\ufeffeins\nzwei\ndrei\n".encode())
    expected = [(b"one", b"eins"), (b"two", b"zwei"), (b"three", b"drei")]
    assert list(TextFiles(f"{tmp_path}/*.en*", tmp_path / "all.de")) == expected
    (tmp_path / "1.en.gz").rename(tmp_path / "1")  # the name does not matter
    assert list(TextFiles(f"{tmp_path}/1,{tmp_path}/2.en", tmp_path / "all.de")) == expected


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        (b"x\n" * 3, b"y\n" * 5, r"a.en has 3.* has 5.*Find where they diverge"),
        (b"x\n" * 5, b"y\n" * 3, r"a.en has 5.* has 3.*Find where they diverge"),
        (b'<srcset setid="newstest2013">\n', b"y\n", "a.en is SGML or XML, not one sentence per"),
    ],
)
def test_files_that_are_not_aligned_lines_are_refused(write, source, target, message):
    files = TextFiles(write("a.en", source), write("a.de", target))
    with pytest.raises(SourceError, match=message):
        list(files)


def test_tab_separated_pairs_are_read(write):
    path = write("pairs.tsv", b"one\teins\ntwo\tzwei\tattribution\n\n")
    assert list(TabSeparatedFile(path)) == [(b"one", b"eins"), (b"two", b"zwei"), (b"", b"")]
    with pytest.raises(SourceError, match=r"broken.tsv, line 2: .*tab.*Received: 'two zwei'"):
        list(TabSeparatedFile(write("broken.tsv", b"one\teins\ntwo zwei\n")))


def test_python_pairs_are_encoded():
    expected = [("ä".encode(), b"b"), (b"\xff", b"d")]
    pairs = [("ä", "b"), [b"\xff", "d"]]
    assert list(Pairs(pairs)) == expected
    function = Pairs(lambda: iter(pairs))
    assert list(function) == list(function) == expected
    for wrong, message in [
        (iter(pairs), "can be read only once"),
        ([("a", "b"), ("c",)], "Pair 2 must be"),
        ([("a", 1)], "Pair 1 must be"),
    ]:
        with pytest.raises(SourceError, match=message):
            list(Pairs(wrong))
