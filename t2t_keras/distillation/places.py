"""Checks the folders of a distillation, which deletes and overwrites only their own files."""

import os
from pathlib import Path

from pipelines.atomic_files import read_json
from pipelines.text.file_lists import find_files
from t2t_keras.distillation.student_record import STUDENT, STUDENTS, TEACHERS, TEXTS

# Folders in the folder of the texts. A stage may delete them to make them again.
MADE = ("texts", "translated", "chosen", "filtered", "data", "real_data", "data_settings")
FIRST_STAGES = {"texts-real", "texts-mono"}
DAMAGED = "Delete it if t2t-distill has written it, or give a different folder"


def check_places(plan):
    """Rejects folders in which a stage would delete or overwrite other files than its own."""
    texts, own = plan.texts_folder.resolve(), plan.folder.resolve()
    for folder in (texts, texts.parent) if texts.name != own.name else ():
        if (folder / "config.json").exists() and (folder / "vocabulary").is_dir():
            raise ValueError(
                f"--texts must be a folder outside of runs. Received: --texts={plan.texts} in the "
                f"run {folder}"
            )
    for name, folder in (("run", plan.run), ("data", plan.data)):
        if folder and texts.is_relative_to(Path(folder).resolve()) and texts != own:
            raise ValueError(
                f"--texts must be a folder outside of --{name}. Received: --texts={plan.texts} "
                f"--{name}={folder}"
            )
    for path in map(Path, paths_of(plan)):
        for made in (texts / name for name in MADE):
            if path.resolve().is_relative_to(made):
                raise ValueError(
                    f"The files in {made} are made again when the texts change, so no input may be "
                    f"in it. Received: {path}"
                )
    if not are_texts(texts):
        name, folder = ("--texts", plan.texts) if plan.texts else ("--run", plan.run)
        raise ValueError(
            f"{texts} must be a new folder, an empty one, or one that t2t-distill has begun: it "
            f"would lose other files. Received: {name}={folder}"
        )


def paths_of(plan):
    """Returns the paths of all inputs, and of the run."""
    given = [*plan.teachers, plan.reverse, plan.data, plan.run, plan.dev_source, plan.dev_target]
    tests = [path for files in plan.tests.values() for path in files]
    mono = find_files("mono", plan.mono) if plan.mono else []
    return [*filter(None, given), *tests, *mono, *plan.experiment.imports]


def are_texts(folder):
    """Returns whether a folder has texts of a distillation, or no files, or does not exist."""
    if not folder.is_dir():
        return not os.path.lexists(folder)
    if any((folder / name).exists() for name in (STUDENT, STUDENTS)):
        return True
    known = {*read_json(folder / TEXTS, {}, DAMAGED), *read_json(folder / "stages.json", {})}
    others = [path for path in folder.iterdir() if path.suffix != ".unfinished"]
    is_empty = all(path.name.startswith(".") for path in others)
    return is_empty or TEACHERS in known or bool(known & FIRST_STAGES)
