"""Records of the settings that texts and students were made with, so that neither is mixed up.

Translations and prepared data may be made again with other settings as long as no student has been
trained on them. A student that has begun to train keeps its settings.
"""

from pathlib import Path

from pipelines.atomic_files import is_locked, read_json, write_json

TEXTS = "settings.json"
STUDENTS = "students.json"
STUDENT = "student.json"
NEW_RUN = "Restore it from a copy, or give a different --run"
TEACHERS = "weights of the teachers"  # an entry that is always among the settings
LONGEST = 30  # characters of a value that is shown; digests are longer


def check_texts(plan, settings):
    """Records the settings of the texts. Rejects other settings than those of earlier students.

    Args:
        plan: a `DistillationPlan`.
        settings: {flag or input: value or digest}, in JSON types.
    """
    folder = plan.texts_folder
    known, students = read_json(folder / TEXTS), read_json(folder / STUDENTS, {})
    own = str(Path(plan.run).resolve())
    others = [
        run
        for run in students.get("runs", ())
        if Path(run, "config.json").exists()
        or (run != own and is_locked(Path(run, plan.folder.name)))  # is about to train
    ]
    if known is not None and others and known != settings:
        remedy = f"Keep them, or give a different {'--texts' if plan.texts else '--run'}"
        raise ValueError(
            f"{folder} holds the texts that {others[0]} was trained on, which were made with other "
            f"settings. Changed: {changes(known, settings)}. {remedy}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / TEXTS, settings)


def check_student(plan, settings):
    """Rejects a run that was not begun by t2t-distill, or that has other settings.

    Args:
        plan, settings: see `check_texts`.
    """
    if not (Path(plan.run) / "config.json").exists():
        return
    known = read_json(plan.folder / STUDENT, remedy=NEW_RUN)
    if known is None:
        raise ValueError(
            f"{plan.run} is a run that t2t-distill has not begun. Give a different --run"
        )
    if known != settings:
        raise ValueError(
            f"{plan.run} was begun with other settings. Changed: {changes(known, settings)}. Keep "
            "them, or give a different --run"
        )


def record_student(plan, settings):
    """Records that the student begins to train on the texts."""
    path = plan.texts_folder / STUDENTS
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = [*read_json(path, {}).get("runs", ()), str(Path(plan.run).resolve())]
    write_json(path, {"runs": list(dict.fromkeys(runs))})
    plan.folder.mkdir(parents=True, exist_ok=True)
    write_json(plan.folder / STUDENT, settings)


def changes(before, after):
    """Returns the settings that differ, as text."""
    shown = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old != new:
            is_short = max(len(str(old)), len(str(new))) <= LONGEST
            shown.append(f"{name} (was {old}, is {new})" if is_short else name)
    return ", ".join(shown)
