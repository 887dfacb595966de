from t2t_keras.export.signature_names import read_batchable, write_batchable
from t2t_keras.translating.exports import versions_in


def test_only_numbered_folders_are_versions(tmp_path):
    for name in ("1", "10", ".2", "3.unfinished", "x", "٣"):
        (tmp_path / name).mkdir()
    (tmp_path / "4").touch()
    assert versions_in(tmp_path) == {1: tmp_path / "1", 10: tmp_path / "10"}
    assert versions_in(tmp_path / "none") == {}


def test_a_savedmodel_states_which_signatures_may_be_batched(tmp_path):
    assert read_batchable(tmp_path) == set(), "without a statement, none"
    write_batchable(tmp_path, ["score", "serving_default"])
    assert read_batchable(tmp_path) == {"score", "serving_default"}
    assert (tmp_path / "assets.extra").is_dir(), "TensorFlow reserves it for such files"
