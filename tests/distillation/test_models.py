"""The models that are given: runs and exports, and their directions."""

import shutil
from types import SimpleNamespace

import pytest
from support.runs.untrained import tiny_experiment

from pipelines.atomic_files import read_json, write_json
from t2t_keras.distillation import DistillationPlan
from t2t_keras.distillation.models import GivenModel, check_directions, given_teachers
from t2t_keras.distillation.text_stages import translation_flags


def plan_for(teachers, data, **changes):
    return DistillationPlan(
        teachers=teachers, experiment=tiny_experiment(), run="student", data=data, **changes
    )


def copied(run, folder, languages=None, data=None):
    """Copies a run, and records other languages."""
    shutil.copytree(run, folder)
    write_json(folder / "config.json", read_json(folder / "config.json") | {"languages": languages})
    return folder


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data").mkdir()
    write_json(tmp_path / "data" / "preparation.json", {"languages": ["en", "de"]})
    return tmp_path / "data"


def test_a_digest_changes_with_the_weights_and_the_search(run, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(run.folder, folder)
    before = GivenModel(run.folder, "TEACHER").digest()
    assert GivenModel(folder, "TEACHER").digest() == before
    contents = read_json(folder / "config.json")
    contents["experiment"]["search"]["alpha"] = 0.1
    write_json(folder / "config.json", contents)
    assert GivenModel(folder, "TEACHER").digest() != before
    assert GivenModel(folder, "TEACHER").vocabulary == folder / "vocabulary"
    assert GivenModel(folder, "TEACHER").beam() == 4


@pytest.fixture
def export(tmp_path):
    """A folder with version 1 of a greedy SavedModel, which cannot be loaded."""
    version = tmp_path / "export" / "1"
    version.mkdir(parents=True)
    record = {"format": "saved_model", "dtype": "float32", "search": {"beam": 1}}
    write_json(version / "export.json", record)
    return version.parent


def test_an_export_is_a_model_with_a_vocabulary_of_its_own(export):
    model = GivenModel(export, "TEACHER")
    assert model.is_export and model.folder.name == "1" and model.beam() == 1
    before = model.digest()
    assert before == GivenModel(export / "1", "TEACHER").digest()
    write_json(export / "1" / "export.json", {"search": {"beam": 2}})
    assert model.digest() != before


def test_directions_that_agree_give_the_students_languages(run, data, tmp_path):
    reverse = GivenModel(copied(run.folder, tmp_path / "reverse", ["de", "en"]), "--reverse")
    plan = plan_for([copied(run.folder, tmp_path / "teacher", ["en", "de"])], data)
    assert check_directions(plan, given_teachers(plan), reverse) == ("en", "de")


def test_other_directions_are_refused(run, data, tmp_path):
    teacher = copied(run.folder, tmp_path / "teacher", ["de", "en"])
    plan = plan_for([teacher], data)
    with pytest.raises(ValueError, match=r"must be of one direction.*data en-de, .* de-en"):
        check_directions(plan, given_teachers(plan), None)
    plan = plan_for([teacher], None, mono=__file__)
    with pytest.raises(ValueError, match=r"/teacher de-en, --reverse=.*/teacher en-de"):
        check_directions(plan, given_teachers(plan), GivenModel(teacher, "--reverse"))


def test_a_teacher_that_cannot_translate_as_asked_is_refused_before_the_work(run, data, tmp_path):
    greedy = tmp_path / "greedy"
    greedy.mkdir()
    (greedy / "model.tflite").touch()
    write_json(greedy / "export.json", {"format": "litert", "dtype": "int8", "search": {"beam": 1}})
    for teacher, changes, message in (
        (run.folder, {"apache_beam": True}, "--apache_beam needs one teacher that is an export"),
        (run.folder, {"dtype": "int8"}, r"no export in int8 of .* t2t-export .* writes"),
        (run.folder, {"engine": "tensorflow", "dtype": "int8"}, "computes with weights in float32"),
        (greedy, {"dtype": "float32"}, "has weights in int8. Received: --dtype=float32"),
    ):
        with pytest.raises(ValueError, match=message):
            given_teachers(plan_for([teacher], data, **changes))
    given_teachers(plan_for([run.folder], data, choose="reference", dtype="float32"))


def test_a_search_wider_than_n_best_is_kept(data, tmp_path):
    (tmp_path / "model.tflite").touch()
    record = {"format": "litert", "dtype": "float32", "search": {"beam": 12}}
    write_json(tmp_path / "export.json", record)
    plan = plan_for([tmp_path], data, choose="reference")
    inputs = SimpleNamespace(teachers=given_teachers(plan))
    assert translation_flags(plan, inputs, "real") == ["--split=off", "--n_best=8"]
