"""Exports on disk: the newest version is opened, whatever its format, if its files are whole."""

import json

import pytest
from support.processes.in_process import refused

from pipelines.atomic_files import write_json
from t2t_keras.runs.exports import writers
from t2t_keras.translating.exports import (
    RECORD,
    check_kind,
    engine_of,
    for_other_programs,
    is_export,
    load_translator,
    newest_in,
    verified_record,
    write_version,
)


def write(folder, format, dtype="float32"):
    return write_version(folder, lambda version: None, {"format": format, "dtype": dtype})


def test_the_newest_version_counts_whatever_its_format(tmp_path):
    assert newest_in(tmp_path) is None and not is_export(tmp_path)
    first, second = write(tmp_path, "litert"), write(tmp_path, "saved_model")
    assert (first.name, second.name) == ("1", "2")
    assert newest_in(tmp_path) == newest_in(second) == second
    assert (engine_of(first), engine_of(second)) == ("litert", "tensorflow")
    second.rename(tmp_path / "0")
    assert newest_in(tmp_path) == first and is_export(tmp_path)


def test_a_folder_without_an_export_says_what_to_give(tmp_path):
    with pytest.raises(ValueError, match=r"contains no export. t2t-export RUN writes one"):
        load_translator(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({}))
    with pytest.raises(ValueError, match=r"is a run. Give one of its exports, such as .*_litert"):
        load_translator(tmp_path)


def test_an_export_of_a_different_kind_or_type_is_refused(tmp_path):
    version = write(tmp_path, "litert", "int8")
    check_kind(version, "auto", None)
    check_kind(version, "litert", "int8")
    with pytest.raises(ValueError, match=r"is for --engine=litert. Received: --engine=tensor"):
        check_kind(version, "tensorflow", None)
    with pytest.raises(ValueError, match=r"has weights in int8. Received: --dtype=float32"):
        check_kind(version, "auto", "float32")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda version: (version / "part/file").write_text("b"), "part/file does not match its"),
        (lambda version: (version / "part/file").unlink(), "part/file is missing"),
        (lambda version: (version / RECORD).unlink(), "it has no export.json"),
        (lambda version: write_json(version / RECORD, {}), "export.json does not match its"),
        (lambda version: (version / RECORD).write_text("{"), "export.json is damaged"),
    ],
)
def test_a_damaged_version_is_refused(tmp_path, damage, message):
    def files(version):
        (version / "part").mkdir()
        (version / "part/file").write_text("a")

    version = write_version(tmp_path, files, {"format": "litert"})
    assert verified_record(version)["format"] == "litert"
    damage(version)
    with pytest.raises(ValueError, match=message):
        verified_record(version)


def test_a_portable_export_is_a_file_and_its_vocabulary(sharp_run, tmp_path, monkeypatch):
    def save(folder, *_):
        (folder / "portable.tflite").touch()

    monkeypatch.setattr(writers, "save_portable", save)
    path = sharp_run.export(tmp_path, "portable", beam=2)
    assert {each.name for each in path.iterdir()} == {"portable.tflite", RECORD, "vocabulary"}
    record = json.loads((path / RECORD).read_text())
    assert record["search"]["beam"] == 2 and "portable.tflite" in record["files"]
    assert not is_export(tmp_path), "the commands take it for no model of theirs"
    for given in (tmp_path, path, path / "portable.tflite"):
        assert "a portable file" in for_other_programs(given)
    assert "a Keras model" in refused("translate", f"{tmp_path}/x.keras", tmp_path)
    assert "Argos" in refused("average", f"{tmp_path}/x.argosmodel", tmp_path)
