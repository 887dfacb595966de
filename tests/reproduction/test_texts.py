"""The texts of tables 2 and 3."""

import pytest

from t2t_keras.reproduction.texts import check_lines, chosen_rows, prepared_data


def test_rows_are_all_unless_some_are_named():
    assert chosen_rows({"base": 1, "big": 2}, None) == ["base", "big"]
    assert chosen_rows({"base": 1, "big": 2}, ["big"]) == ["big"]
    with pytest.raises(ValueError, match="did you mean 'base'"):
        chosen_rows({"base": 1, "big": 2}, ["bse"])


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("", "", "--test_source must not be empty"),
        ("a\nb\n", "a\n", "--test_source and --test_target must have the same number of lines"),
        (None, "a\n", "--test_source must be a text file"),
    ],
)
def test_files_that_cannot_be_scored_are_refused(tmp_path, source, target, message):
    for name, text in (("source", source), ("target", target)):
        if text is not None:
            (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message):
        check_lines("test", tmp_path / "source", tmp_path / "target")


def test_prepared_data_must_be_finished(tmp_path):
    (tmp_path / "file").touch()
    for data in ("nowhere", "file"):
        with pytest.raises(ValueError, match="--data must be a folder with finished data"):
            prepared_data(tmp_path, "data", tmp_path / data, dev=None)
