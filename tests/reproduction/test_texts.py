"""The texts of tables 2 and 3."""

import pytest

from t2t_keras.reproduction.texts import chosen_rows, prepared_data


def test_rows_are_all_unless_some_are_named():
    assert chosen_rows({"base": 1, "big": 2}, None) == ["base", "big"]
    assert chosen_rows({"base": 1, "big": 2}, ["big"]) == ["big"]
    with pytest.raises(ValueError, match="did you mean 'base'"):
        chosen_rows({"base": 1, "big": 2}, ["bse"])


def test_prepared_data_must_be_finished(tmp_path):
    (tmp_path / "file").touch()
    for data in ("nowhere", "file"):
        with pytest.raises(ValueError, match="--data must be a folder with finished data"):
            prepared_data(tmp_path, "data", tmp_path / data, dev=None)
