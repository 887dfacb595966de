"""Folders and inputs that a distillation refuses before it deletes or overwrites anything."""

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
    cases = [
        ({"data": tmp_path}, "--data must be a folder with finished data"),
        ({"teachers": tmp_path}, "TEACHER must be a run or an export"),
        ({"reverse": tmp_path}, "--reverse must be a run or an export"),
        ({"texts": data / "texts"}, "--texts must be a folder outside of --data"),
        ({"texts": tmp_path / "student" / "t"}, "--texts must be a folder outside of --run"),
        (
            {"texts": run.folder / "texts"},
            "--texts must be a folder outside of runs",
        ),
        ({"texts": tagged.parent}, "must be a new folder, .* it would lose other files"),
        (
            {"texts": data.parent, "data": data},
            "files in .*/data are made again .* Received: .*data",
        ),
        ({"data": tagged}, "has a tag before each source, but .*has no tag '<2de>'"),
        ({"folder": run.folder}, "a run that t2t-distill has not begun"),
        ({"folder": data}, "is not a run: it has no config.json, but other files"),
    ]
    for changes, message in cases:
        given = {"teachers": run.folder, "folder": tmp_path / "student", "data": data} | changes
        with pytest.raises(ValueError, match=message):
            distill(experiment=tiny_experiment(), **given)
    assert not faked.started and not list(tmp_path.iterdir())


def test_files_in_the_folder_of_the_texts_are_never_deleted(faked, run, toy_data, tmp_path):
    """The prepared data is in `data` there, a likely name of a user's folder."""
    (tmp_path / "texts" / "data").mkdir(parents=True)
    mine = write_lines(tmp_path / "texts" / "data" / "mine.txt", ["Precious."])
    given = {"experiment": tiny_experiment(), "data": toy_data[1], "texts": tmp_path / "texts"}
    for contents, message in (
        (None, "it would lose other files"),
        ("{}", "it would lose other files"),
        ("[]", "is damaged .* if t2t-distill has written it, or give a different folder"),
    ):
        if contents:
            (tmp_path / "texts" / "settings.json").write_text(contents)
        with pytest.raises(ValueError, match=message):
            distill(run.folder, folder=tmp_path / "student", **given)
        assert mine.read_text() == "Precious.\n" and not faked.started
    shutil.rmtree(tmp_path / "texts")
    mine = tmp_path / "other" / "distillation" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.touch()
    with pytest.raises(ValueError, match=r"it would lose other files\. Received: --run=.*other"):
        distill(run.folder, folder=tmp_path / "other", **given | {"texts": None})
    for student in ("student", "second"):
        distill(run.folder, folder=tmp_path / student, **given)
    for record in ("students.json", "settings.json"):
        (tmp_path / "texts" / record).unlink()
    distill(run.folder, folder=tmp_path / "third", **given)
    assert faked.commands() == ["translate", "prepare", *["train"] * 3], "they are still known"


def test_no_input_may_be_where_a_stage_writes(faked, run, toy_data, tmp_path):
    texts = tmp_path / "texts"
    (texts / "data").mkdir(parents=True)
    shutil.copytree(run.folder, texts / "data" / "teacher")
    file = write_lines(texts / "data" / "lines.txt", ["A line."])
    given = {"teachers": run.folder, "data": toy_data[1], "texts": texts}
    for changes in (
        {"teachers": texts / "data" / "teacher"},
        {"reverse": texts / "data" / "teacher"},
        {"mono": file},
        {"dev_source": file, "dev_target": file},
        {"test": f"mine={file},{file}"},
    ):
        with pytest.raises(ValueError, match="are made again when the texts change"):
            distill(experiment=tiny_experiment(), folder=tmp_path / "s", **given | changes)
    assert not faked.started
