"""The newest export in a folder is found, whatever its format."""

import json

import pytest
from support.processes.in_process import refused

from t2t_keras.runs.exports import engine_exports
from t2t_keras.translating.export_folders import find_export, other_export
from t2t_keras.translating.find import check_kind, is_export, load_translator, needs_tensorflow


def test_the_newest_version_counts_whatever_its_format(tmp_path):
    assert find_export(tmp_path) is None and not is_export(tmp_path)
    for version, name in ((2, "litert.json"), (10, "saved_model.pb")):
        (tmp_path / str(version)).mkdir()
        (tmp_path / str(version) / name).touch()
    assert find_export(tmp_path) == find_export(tmp_path / "10") == tmp_path / "10"
    assert is_export(tmp_path) and needs_tensorflow(tmp_path)
    (tmp_path / "10").rename(tmp_path / "1")
    assert find_export(tmp_path) == tmp_path / "2" and not needs_tensorflow(tmp_path)
    (tmp_path / "model.bin").touch()
    assert is_export(tmp_path) and not needs_tensorflow(tmp_path), "it is for CTranslate2"


def test_a_folder_without_an_export_says_what_to_give(tmp_path):
    with pytest.raises(ValueError, match=r"contains no export. t2t-export RUN writes one"):
        load_translator(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match=r"is a run. Give one of its exports, such as .*_litert"):
        load_translator(tmp_path)


def test_an_export_of_a_different_kind_or_type_is_refused():
    check_kind("toy", "litert", "int8", "auto", None)
    check_kind("toy", "litert", "int8", "litert", "int8")
    with pytest.raises(ValueError, match=r"toy is for --engine=litert. Received: --engine=tensor"):
        check_kind("toy", "litert", "int8", "tensorflow", None)
    with pytest.raises(ValueError, match=r"toy has weights in int8. Received: --dtype=float32"):
        check_kind("toy", "litert", "int8", "auto", "float32")


def test_a_portable_export_is_a_file_and_its_vocabulary(sharp_run, tmp_path, monkeypatch):
    def write(folder, *_):
        (folder / "portable.tflite").touch()

    monkeypatch.setattr(engine_exports, "save_portable", write)
    path = sharp_run.export(tmp_path, "litert", portable=True, beam=2)
    assert {each.name for each in path.iterdir()} == {
        *("portable.tflite", "portable.json", "vocabulary")
    }
    record = json.loads((path / "portable.json").read_text())
    assert record["search"]["beam"] == 2 and "portable.tflite" in record["files"]
    assert not is_export(tmp_path), "the commands take it for no model of theirs"
    for given in (tmp_path, path, path / "portable.tflite"):
        assert "a portable export" in other_export(given)
    assert "a Keras model" in refused("translate", f"{tmp_path}/x.keras", tmp_path)
    assert "Argos" in refused("average", f"{tmp_path}/x.argosmodel", tmp_path)
