from t2t_keras.translating.exports import versions_in


def test_only_numbered_folders_are_versions(tmp_path):
    for name in ("1", "10", ".2", "3.unfinished", "x", "٣"):
        (tmp_path / name).mkdir()
    (tmp_path / "4").touch()
    assert versions_in(tmp_path) == {1: tmp_path / "1", 10: tmp_path / "10"}
    assert versions_in(tmp_path / "none") == {}
