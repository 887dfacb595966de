import json
import shutil

import pytest
import tensorflow as tf

from t2t_keras.export.loading import load, write_manifest
from t2t_keras.export.signature_graphs import SignatureGraphs


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a SavedModel that adds 1, with a manifest. No test changes it."""
    folder = tmp_path_factory.mktemp("models") / "adds_one"
    module = tf.Module()
    module.one = tf.Variable(1.0)
    write(module, lambda x: {"sum": x + module.one}, folder)
    write_manifest(folder)
    return folder


def write(module, function, folder):
    signature = tf.function(function, input_signature=[tf.TensorSpec([], tf.float32)])
    tf.saved_model.save(module, folder, signatures=signature)


def added(folder):
    return float(load(folder).signatures["serving_default"](tf.constant(2.0))["sum"])


@pytest.fixture
def copied(model, tmp_path):
    return shutil.copytree(model, tmp_path / "copy")


def test_a_model_is_loaded_without_a_manifest(copied):
    (copied / "assets.extra" / "sha256.json").unlink()
    assert added(copied) == 3.0
    for name in ("saved_model.pb", "variables/variables.index"):
        before = (copied / name).read_bytes()
        (copied / name).write_bytes(b"nonsense")
        with pytest.raises(ValueError, match=r"is damaged .*t2t-export"):
            load(copied)
        (copied / name).write_bytes(before)


@pytest.mark.parametrize("name", ["a[1]", "b\\c", "g\nh d*", "\udcff"])
@pytest.mark.parametrize("loaded", [load, SignatureGraphs])
def test_a_model_is_loaded_from_a_path_of_any_characters(model, tmp_path, name, loaded):
    shutil.copytree(model, tmp_path / name / "1")
    moved = loaded(tmp_path / name / "1")  # keeps its variables alive
    signatures = moved.signatures if loaded is load else moved
    assert float(signatures["serving_default"](x=tf.constant(2.0))["sum"]) == 3.0


def test_the_manifest_lists_every_file(model):
    names = json.loads((model / "assets.extra" / "sha256.json").read_text())
    files = {str(path.relative_to(model)) for path in model.rglob("*") if path.is_file()}
    assert {*names, "assets.extra/sha256.json"} == files


@pytest.mark.parametrize("name", ["saved_model.pb", "variables/variables.data-00000-of-00001"])
def test_an_altered_or_missing_file_is_named(copied, name):
    contents = (copied / name).read_bytes()
    (copied / name).write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
    with pytest.raises(ValueError, match=rf"copy is damaged \({name} does not .*t2t-export"):
        load(copied)
    (copied / name).unlink()
    with pytest.raises(ValueError, match=rf"copy is damaged .*{name}"):
        load(copied)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"../outside": "0"}', '{"a": 1}'])
def test_a_manifest_that_is_none_is_refused(copied, text):
    (copied / "assets.extra" / "sha256.json").write_text(text)
    with pytest.raises(ValueError, match="copy is damaged"):
        load(copied)


def test_a_graph_that_writes_files_is_not_loaded(tmp_path):
    def written(x):
        tf.io.write_file(str(tmp_path / "outside"), "contents")
        return {"x": x}

    write(tf.Module(), written, tmp_path / "model")
    with pytest.raises(ValueError, match="reaches beyond the model by the operation WriteFile"):
        load(tmp_path / "model")
    assert not (tmp_path / "outside").exists()
