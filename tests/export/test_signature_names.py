"""A SavedModel states which signatures may be batched, in a file that TensorFlow ignores."""

from t2t_keras.export.signature_names import BATCHABLE_FILE, read_batchable, write_batchable


def test_the_statement_is_read_back(tmp_path):
    write_batchable(tmp_path, ["score", "serving_default"])
    assert read_batchable(tmp_path) == {"score", "serving_default"}
    assert BATCHABLE_FILE.parent.name == "assets.extra", (
        "the place that TensorFlow reserves for such files"
    )


def test_without_a_statement_nothing_may_be_batched(tmp_path):
    assert read_batchable(tmp_path) == set()
