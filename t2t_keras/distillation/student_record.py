"""Records of the settings that texts and students were made with, so that neither is mixed up.

Translations and prepared data may be made again with other settings until a student trains on them.
A student that has begun to train keeps its settings.
"""

from pathlib import Path

from pipelines.atomic_files import read_json, write_json

TEXTS = "settings.json"
STUDENT = "student.json"
TEACHERS = "weights of the teachers"  # an entry that is always among the settings
LONGEST = 30  # characters of a value that is shown; digests are longer


def check_texts(plan, settings):
    """Rejects other settings than those of the texts that a student was trained on.

    Args:
        plan: a `DistillationPlan`.
        settings: {flag or input: value or digest}, in JSON types.
    """
    known = read_json(plan.texts_folder / TEXTS, {})
    is_begun = known and Path(known["student"], "config.json").exists()
    if is_begun and known["settings"] != settings:
        raise ValueError(
            f"{known['student']} was trained on the texts in {plan.texts_folder}, which were made "
            f"with other settings. Changed: {changes(known['settings'], settings)}. Keep them, or "
            f"give a different {'--texts' if plan.texts else '--run'}"
        )


def check_student(plan, settings):
    """Rejects a run that was not begun by t2t-distill, or that has other settings.

    Args:
        plan, settings: see `check_texts`.
    """
    if not (Path(plan.run) / "config.json").exists():
        return
    remedy = "Restore it from a copy, or give a different --run"
    known = read_json(plan.folder / STUDENT, remedy=remedy)
    if known is None:
        raise ValueError(
            f"{plan.run} is a run that t2t-distill has not begun. Give a different --run"
        )
    if known != settings:
        raise ValueError(
            f"{plan.run} was begun with other settings. Changed: {changes(known, settings)}. Keep "
            "them, or give a different --run"
        )


def record_student(plan, texts, student):
    """Records the settings of the texts and of a student that begins to train on them."""
    plan.folder.mkdir(parents=True, exist_ok=True)
    own = str(Path(plan.run).resolve())
    write_json(plan.texts_folder / TEXTS, {"student": own, "settings": texts})
    write_json(plan.folder / STUDENT, student)


def changes(before, after):
    """Returns the settings that differ, as text."""
    shown = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old != new:
            is_short = max(len(str(old)), len(str(new))) <= LONGEST
            shown.append(f"{name} (was {old}, is {new})" if is_short else name)
    return ", ".join(shown)
