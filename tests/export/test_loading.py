import shutil

import pytest
import tensorflow as tf

from t2t_keras.export.loading import load


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a SavedModel that adds 1. No test changes it."""
    folder = tmp_path_factory.mktemp("models") / "adds_one"
    module = tf.Module()
    module.one = tf.Variable(1.0)
    write(module, lambda x: {"sum": x + module.one}, folder)
    return folder


def write(module, function, folder):
    signature = tf.function(function, input_signature=[tf.TensorSpec([], tf.float32)])
    tf.saved_model.save(module, folder, signatures=signature)


def added(folder):
    loaded = load(folder)  # keeps its variables alive
    return float(loaded.signatures["serving_default"](tf.constant(2.0))["sum"])


def test_a_damaged_model_is_refused(model, tmp_path):
    copied = shutil.copytree(model, tmp_path / "copy")
    assert added(copied) == 3.0
    for name in ("saved_model.pb", "variables/variables.index"):
        before = (copied / name).read_bytes()
        (copied / name).write_bytes(b"nonsense")
        with pytest.raises(ValueError, match=r"is damaged .*t2t-export"):
            load(copied)
        (copied / name).write_bytes(before)


@pytest.mark.parametrize("name", ["a[1]", "b\\c", "g\nh d*", "\udcff"])
def test_a_model_is_loaded_from_a_path_of_any_characters(model, tmp_path, name):
    shutil.copytree(model, tmp_path / name / "1")
    assert added(tmp_path / name / "1") == 3.0


def test_a_graph_that_writes_files_is_not_loaded(tmp_path):
    def written(x):
        tf.io.write_file(str(tmp_path / "outside"), "contents")
        return {"x": x}

    write(tf.Module(), written, tmp_path / "model")
    with pytest.raises(ValueError, match="reaches beyond the model by the operation WriteFile"):
        load(tmp_path / "model")
    assert not (tmp_path / "outside").exists()
