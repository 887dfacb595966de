"""The report of a distillation."""

import shutil
from types import SimpleNamespace

from pipelines.atomic_files import file_digest, write_json
from t2t_keras.distillation.report import student_lines


def test_a_student_without_checkpoints_was_trained_to_the_last_step_of_its_average(run, tmp_path):
    """A user deletes checkpoints once they are averaged."""
    folder = tmp_path / "student"
    shutil.copytree(run.folder, folder, ignore=shutil.ignore_patterns("checkpoints"))
    (folder / "averaged.weights.h5").touch()
    digest = file_digest(folder / "averaged.weights.h5")
    write_json(folder / "averaged.json", {digest: {"steps": [10, 1200]}})
    (line,) = student_lines(SimpleNamespace(run=folder), "data")
    assert line == "trained on data to step 1,200; weights: averaged"
