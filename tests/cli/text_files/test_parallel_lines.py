"""Files with a line for each input line: neither fewer nor more."""

import io
from types import SimpleNamespace

import pytest

from t2t_keras.cli.text_files import parallel_lines
from t2t_keras.cli.text_files.parallel_lines import LinesBeside, check_lines, line_count


class Stream(io.BytesIO):
    """An input that can be read once, like a pipe."""

    def seekable(self):
        return False


@pytest.fixture
def beside(tmp_path):
    (tmp_path / "prefixes").write_text("a\n\nc\n")
    return LinesBeside(SimpleNamespace(name="prefixes", value=str(tmp_path / "prefixes")))


def test_an_input_of_a_different_number_of_lines_is_refused_before_the_work(beside):
    none = LinesBeside(SimpleNamespace(name="require", value=None))
    for lines in (2, 4):
        message = f"--prefixes must have a line for each .* 3 lines for {lines} input lines"
        with pytest.raises(ValueError, match=message):
            check_lines(lines, [none, beside])
    check_lines(None, [beside])  # the number is not known yet


@pytest.mark.parametrize("text", [b"", b"x", b"x\n\n", b"\n" * 7 + b"y\r\nlast", b"a\rb"])
def test_lines_are_counted_and_can_be_read_again_from_the_same_place(text, monkeypatch):
    monkeypatch.setattr(parallel_lines, "PART", 4)
    source = io.BytesIO(b"read already\n" + text)
    source.readline()
    assert line_count(source) == len(list(io.BytesIO(text))) == len(source.readlines())
    assert line_count(Stream(text)) is None


def test_a_stream_is_refused_once_its_number_of_lines_is_known(beside):
    assert beside.take(2) == ["a", ""]
    with pytest.raises(ValueError, match="Received: 3 lines for 2 input lines"):
        beside.check(2)
    assert beside.take(1) == ["c"]
    beside.check(3)
    with pytest.raises(ValueError, match="Received: 3 lines for 4 or more input lines"):
        beside.take(1)


def test_a_digest_of_lines_does_not_read_their_file_again(beside):
    digest = beside.digest()
    with open(beside.flag.value, "w") as file:
        file.write("b\n\nc\n")
    assert beside.digest() == digest != LinesBeside(beside.flag).digest()


def test_a_line_for_all_lines_fits_any_number_of_them():
    everywhere = LinesBeside(SimpleNamespace(name="prefixes", value=None), everywhere="a")
    assert everywhere.take(2) == ["a", "a"]
    everywhere.check(7)
