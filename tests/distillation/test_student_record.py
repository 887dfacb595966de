"""Texts and students are not mixed up with those of other settings."""

from types import SimpleNamespace

import pytest

from t2t_keras.distillation.student_record import check_student, check_texts, record_student


@pytest.fixture
def plan(tmp_path):
    run, texts = tmp_path / "run", tmp_path / "texts"
    return SimpleNamespace(
        run=str(run), folder=run / "distillation", texts=texts, texts_folder=texts
    )


def begin(plan):
    """Does what t2t-train does."""
    plan.folder.parent.mkdir(exist_ok=True)
    (plan.folder.parent / "config.json").touch()


def test_texts_may_change_until_a_student_trains_on_them(plan):
    check_texts(plan, {"--ratio": 2.5})
    check_texts(plan, {"--ratio": 2.0})
    plan.texts.mkdir()
    record_student(plan, {"--ratio": 1.5}, {})
    check_texts(plan, {"--ratio": 3})
    begin(plan)
    check_texts(plan, {"--ratio": 1.5})
    message = r"/run was trained on.* Changed: --ratio \(was 1.5, is 3\)\. .* --texts"
    with pytest.raises(ValueError, match=message):
        check_texts(plan, {"--ratio": 3})
    check_texts(plan, {"--ratio": 1.5})  # the refused settings were not recorded


def test_a_student_keeps_its_settings(plan):
    check_student(plan, {"training.steps": 10})
    plan.texts.mkdir()
    record_student(plan, {}, {"training.steps": 10})
    check_student(plan, {"training.steps": 20})
    record_student(plan, {}, {"training.steps": 20})
    begin(plan)
    check_student(plan, {"training.steps": 20})
    with pytest.raises(ValueError, match=r"training.steps \(was 20, is 30\)"):
        check_student(plan, {"training.steps": 30})
