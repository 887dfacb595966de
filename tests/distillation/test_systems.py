"""The forms in which systems are compared. Nothing here loads a model."""

import json

import pytest

from pipelines.exit_codes import NO_SPACE
from t2t_keras.distillation import systems
from t2t_keras.distillation.systems import forms_of, systems_of
from t2t_keras.stages.stages import StageFailed


def write_litert(folder, dtype="float32", beam=4, size=1000):
    folder.mkdir(parents=True)
    record = {"format": "litert", "dtype": dtype, "search": {"beam": beam}}
    (folder / "export.json").write_text(json.dumps(record))
    (folder / "model.tflite").write_bytes(bytes(size))
    return folder


@pytest.fixture(autouse=True)
def litert_alone(monkeypatch):
    monkeypatch.setattr(systems, "has_ctranslate2", lambda: False)


def forms(folders, tmp_path, notes=()):
    teacher, *_, student = systems_of(list(map(str, folders[1:] or ["other"])), folders[0])
    return forms_of(teacher if folders[1:] else student, tmp_path / "work", notes)


def test_systems_are_named_after_their_folders_where_these_names_differ():
    found = systems_of(["runs/b", "runs/c", "runs/c"], "runs/small", to="de")
    assert [(system.label, system.name) for system in found] == [
        *(("teacher", "b + c + c"), ("teacher-run1", "b"), ("teacher-run2", "c")),
        ("student", "small"),
    ]
    assert [system.to for system in found] == [*["de"] * 3, None], "a student has one language"
    assert [system.name for system in systems_of(["old/run"], "new/run")] == ["old/run", "new/run"]


def test_an_export_is_measured_with_its_beam_width_and_greedily(tmp_path):
    write_litert(tmp_path / "export" / "1", "int8", beam=6)
    found = forms([tmp_path / "export"], tmp_path)
    assert [(form.engine, form.dtype, form.search) for form in found] == [
        ("litert", "int8", "beam 6"),
        ("litert", "int8", "greedy"),
    ]
    assert [form.is_default for form in found] == [True, False]
    assert {form.bytes for form in found} == {1000}
    assert found[0].label == "student-litert-int8-beam6"


def test_a_run_that_no_other_engine_computes_is_measured_on_tensorflow(run, tmp_path, monkeypatch):
    def refuse(*_):
        raise StageFailed("no such thing", 2)

    def fail(*_):
        raise StageFailed("No space left on device: model.tflite", NO_SPACE)

    monkeypatch.setattr(systems, "exported", fail)
    with pytest.raises(StageFailed, match="No space left"):
        forms([run.folder], tmp_path)
    monkeypatch.setattr(systems, "exported", refuse)
    notes = []
    found = forms([run.folder], tmp_path, notes)
    assert {(form.engine, form.dtype) for form in found} == {("tensorflow", "float32")}
    assert [form.beam for form in found] == [run.search_settings().beam, 1]
    weights = sum(weight.numpy().size for weight in run.model().weights)
    assert {form.bytes for form in found} == {4 * weights}
    assert notes == [f"toy has no LiteRT in {dtype}: no such thing" for dtype in systems.DTYPES]


def test_a_model_of_several_languages_is_exported_with_the_tag_it_uses(run, tmp_path, monkeypatch):
    flags = []

    def run_once(self, arguments, **_):
        flags.append(arguments)

    monkeypatch.setattr(systems.Stages, "run_once", run_once)
    teacher, student = systems_of([str(run.folder)], run.folder, to="de")
    for system in (teacher, student):
        systems.exported(system, "litert", "int8", tmp_path)
    assert ["--to=de" in words for words in flags] == [True, False]


def test_an_ensemble_is_measured_on_tensorflow(run, tmp_path):
    found = forms([run.folder] * 3, tmp_path)
    assert {form.engine for form in found} == {"tensorflow"}
    assert found[0].folders == [str(run.folder)] * 2
    assert found[0].bytes == 2 * 4 * sum(weight.numpy().size for weight in run.model().weights)
