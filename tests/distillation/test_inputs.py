"""Inputs that a distillation refuses before it deletes or overwrites anything."""

import shutil

import pytest
from support.runs.reproduced import write_lines
from support.runs.untrained import tiny_experiment

from pipelines.atomic_files import read_json, write_json
from t2t_keras.distillation import distill


def test_bad_input_is_refused_before_the_work(faked, run, toy_data, tmp_path):
    data, tagged = toy_data[1], tmp_path.parent / f"{tmp_path.name}-tagged"
    shutil.copytree(data, tagged)
    preparation = read_json(tagged / "preparation.json")
    write_json(tagged / "preparation.json", preparation | {"tag": "<2de>"})
    for changes, message in [
        ({"data": tmp_path}, "--data must be a folder with finished data"),
        ({"teachers": tmp_path}, "TEACHER must be a run or an export"),
        ({"reverse": tmp_path}, "--reverse must be a run or an export"),
        ({"data": tagged}, "has a tag before each source, but .*has no tag '<2de>'"),
        ({"folder": run.folder}, "a run that t2t-distill has not begun"),
        ({"folder": data}, "is not a run: it has no config.json, but other files"),
    ]:
        given = {"teachers": run.folder, "folder": tmp_path / "student", "data": data} | changes
        with pytest.raises(ValueError, match=message):
            distill(experiment=tiny_experiment(), **given)
    assert not faked.started and not list(tmp_path.iterdir())


def test_files_in_the_folder_of_the_texts_are_never_deleted(faked, run, toy_data, tmp_path):
    """The prepared data is in `data` there, a likely name of a user's folder."""
    (tmp_path / "texts" / "data").mkdir(parents=True)
    mine = write_lines(tmp_path / "texts" / "data" / "mine.txt", ["Precious."])
    given = {"experiment": tiny_experiment(), "data": toy_data[1], "texts": tmp_path / "texts"}
    with pytest.raises(ValueError, match=r"writes a new .*/data, which has files already"):
        distill(run.folder, folder=tmp_path / "student", **given)
    assert mine.read_text() == "Precious.\n"
