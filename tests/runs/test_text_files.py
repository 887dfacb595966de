import pytest

from t2t_keras.runs import text_files
from t2t_keras.runs.text_files import line_text, read_lines, read_parallel, write_lines


def test_only_a_line_feed_ends_a_line(tmp_path):
    for contents, lines in {
        b"": [],
        b"\n": [""],
        b"one\ntwo\n": ["one", "two"],
        b"one\r\n\r\nno line feed at the end": ["one", "", "no line feed at the end"],
        "a\u2028b\x0bc\x0cd\re\n".encode(): ["a\u2028b\x0bc\x0cd\re"],
        b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n": ["a", "\ufeffb"],  # a byte order mark is no text
    }.items():
        (tmp_path / "text").write_bytes(contents)
        assert read_lines(tmp_path / "text") == lines


def test_bytes_that_are_not_utf8_are_reported(caplog):
    text_files.logging._log_counter_per_token.clear()
    assert line_text("\ufffd ä".encode(), 0) == "\ufffd ä" and not caplog.text
    assert line_text(b"caf\xe9\n", 6) == "caf\ufffd"
    assert "Line 7 is not UTF-8: its invalid bytes" in caplog.text


def test_lines_are_read_as_they_were_written(tmp_path):
    lines = ["ä", "", "日本語"]
    write_lines(tmp_path / "text", lines)
    assert (tmp_path / "text").read_bytes().endswith("日本語\n".encode())
    assert read_lines(tmp_path / "text") == lines


def test_files_of_different_length_are_refused(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    write_lines(one, ["b"])
    write_lines(two, ["a", "b"])
    assert read_parallel(source=one, reference=one) == [["b"], ["b"]]
    message = r"--source and --reference must have the same number of lines. Received: 2 and 1"
    with pytest.raises(ValueError, match=message):
        read_parallel(source=two, reference=one)
