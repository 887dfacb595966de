"""Outputs of commands: refused if they are inputs, complete or absent."""

import os

import pytest

from t2t_keras.cli.text_files.output_files import check_output_folder, check_outputs, output_to


@pytest.fixture
def text(tmp_path):
    """A file that is an input."""
    path = tmp_path / "text"
    path.write_text("contents")
    return path


def test_an_output_that_is_an_input_is_refused_under_every_name(text):
    text.with_name("symbolic").symlink_to(text)
    text.with_name("hard").hardlink_to(text)
    (text.parent / "out.unfinished").hardlink_to(text)
    names = [text, text.with_name("symbolic"), text.with_name("hard"), os.path.relpath(text)]
    names.append(text.with_name("out"))  # its temporary name counts, too
    for output in names:
        with pytest.raises(ValueError, match="--output and --source are the same file"):
            check_outputs(output, {"reference": None, "source": [text]})


def test_other_files_and_devices_are_allowed(text):
    outputs = [text.with_name("new"), text.with_name("new")]
    check_outputs(outputs, {"input": text, "missing": text.with_name("missing")})
    check_outputs(None, {"input": text})
    check_outputs("/dev/null", {"input": "/dev/null"})


def test_a_folder_that_cannot_be_written_is_refused(text):
    check_output_folder(text.parent)
    check_output_folder(text.parent / "new" / "folder")
    assert not (text.parent / "new").exists()
    for folder in (text, text / "folder"):
        with pytest.raises(NotADirectoryError, match="text"):
            check_output_folder(folder)


def test_an_output_keeps_its_contents_until_it_is_complete(text):
    with output_to(text) as file:
        file.write(b"new")
        file.flush()
        assert text.read_text() == "contents"
    assert text.read_text() == "new"
