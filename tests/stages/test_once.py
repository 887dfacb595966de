"""Runs are not mixed up with those of other settings."""

import pytest

from t2t_keras.stages.once import check_begun, once


def test_settings_may_change_until_a_run_has_begun(tmp_path):
    def check(settings, run=tmp_path / "run"):
        check_begun(tmp_path / "texts" / "begun.json", run, settings, "move it")

    check({"steps": 10, "text": "1" * 31})
    check({"steps": 20, "rates": (1, 2)})
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").touch()
    check({"steps": 20, "rates": (1, 2)})
    message = r"/run was begun .* Changed: steps \(was 20, is 10\), rates .*, text\. .* or move it"
    for run in ("run", "second"):
        with pytest.raises(ValueError, match=message):
            check({"steps": 10, "text": "1" * 31}, tmp_path / run)
    check({"steps": 20, "rates": (1, 2)}, tmp_path / "second")


def test_a_measurement_is_repeated_only_for_a_different_key(tmp_path):
    path, results = tmp_path / "kept.json", iter([[1], [2]])

    def measured(key):
        return once(path, key, lambda: next(results))

    assert measured({"n": [1, 2]}) == [1]
    assert measured({"n": [1, 2]}) == [1]
    assert measured({"n": [1]}) == [2]
