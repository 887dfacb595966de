"""Texts and students are not mixed up with those of other settings."""

import dataclasses

import pytest

from t2t_keras.distillation.student_record import (
    check_student,
    check_texts,
    record_student,
)


@dataclasses.dataclass
class Folders:
    run: str
    folder: object
    texts: str | None = None

    @property
    def texts_folder(self):
        return self.texts or self.folder


@pytest.fixture
def plan(tmp_path):
    return Folders(str(tmp_path / "run"), tmp_path / "run" / "distillation", tmp_path / "texts")


def begin(plan):
    """Does what t2t-train does."""
    plan.folder.parent.mkdir(exist_ok=True)
    (plan.folder.parent / "config.json").touch()


def test_texts_may_change_until_a_student_trains_on_them(plan):
    check_texts(plan, {"--ratio": 2.5})
    check_texts(plan, {"--ratio": 2.0})
    record_student(plan, {})
    check_texts(plan, {"--ratio": 1.5})
    begin(plan)
    check_texts(plan, {"--ratio": 1.5})
    message = r"that .*/run was trained on.* Changed: --ratio \(was 1.5, is 3\)\. .* --texts"
    with pytest.raises(ValueError, match=message):
        check_texts(plan, {"--ratio": 3})
    check_texts(plan, {"--ratio": 1.5})  # the refused settings were not recorded


def test_a_student_keeps_its_settings(plan):
    check_student(plan, {"training.steps": 10})
    record_student(plan, {"training.steps": 10})
    check_student(plan, {"training.steps": 20})
    record_student(plan, {"training.steps": 20})
    begin(plan)
    check_student(plan, {"training.steps": 20})
    with pytest.raises(ValueError, match=r"training.steps \(was 20, is 30\)"):
        check_student(plan, {"training.steps": 30})


def test_a_run_that_was_trained_otherwise_is_refused(plan):
    begin(plan)
    with pytest.raises(ValueError, match="a run that t2t-distill has not begun"):
        check_student(plan, {})
