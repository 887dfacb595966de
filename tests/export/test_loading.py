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


def test_a_whole_model_is_loaded_with_and_without_a_manifest(model, tmp_path):
    assert added(model) == 3.0
    shutil.copytree(model, tmp_path / "copy")
    (tmp_path / "copy" / "assets.extra" / "sha256.json").unlink()
    assert added(tmp_path / "copy") == 3.0


@pytest.mark.parametrize("name", ["a[1]", "b\\c", "d*", "e f", "g\nh", "\udcff"])
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


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "fingerprint.pb", "variables/variables.data-00000-of-00001"]
)
def test_an_altered_or_missing_file_is_named(model, tmp_path, name):
    shutil.copytree(model, tmp_path / "copy")
    path = tmp_path / "copy" / name
    contents = path.read_bytes()
    path.write_bytes(contents[:-1] + bytes([contents[-1] ^ 1]))
    with pytest.raises(ValueError, match=rf"copy is damaged \({name} does not .*t2t-export"):
        load(tmp_path / "copy")
    path.unlink()
    with pytest.raises(ValueError, match=rf"copy is damaged .*{name}"):
        load(tmp_path / "copy")


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000, '{"../outside": "0"}', '{"a": 1}'])
def test_a_manifest_that_is_none_is_refused(model, tmp_path, text):
    shutil.copytree(model, tmp_path / "copy")
    (tmp_path / "copy" / "assets.extra" / "sha256.json").write_text(text)
    with pytest.raises(ValueError, match="copy is damaged"):
        load(tmp_path / "copy")


def test_damage_without_a_manifest_is_one_error(model, tmp_path):
    for name in ("saved_model.pb", "variables/variables.index"):
        copy = tmp_path / name.replace("/", "-")
        shutil.copytree(model, copy)
        (copy / "assets.extra" / "sha256.json").unlink()
        (copy / name).write_bytes(b"nonsense")
        with pytest.raises(ValueError, match=r"is damaged .*t2t-export"):
            load(copy)


def test_a_graph_that_writes_files_is_not_loaded(tmp_path):
    def written(x):
        tf.io.write_file(str(tmp_path / "outside"), "contents")
        return {"x": x}

    write(tf.Module(), written, tmp_path / "model")
    with pytest.raises(ValueError, match="reaches beyond the model by the operation WriteFile"):
        load(tmp_path / "model")
    assert not (tmp_path / "outside").exists()
