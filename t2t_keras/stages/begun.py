"""A run that has begun keeps its settings and its text."""

import json
from pathlib import Path

from pipelines.atomic_files import read_json, write_json

LONGEST = 30  # characters of a value that is shown; digests are longer


def check_begun(record, run, settings, remedy):
    """Rejects other settings than those that a run was begun with; records those of a new run.

    Args:
        record: path of the JSON file with the settings. Runs may share it.
        run: folder of the run. It has begun when it has a config.json.
        settings: {name: value, or digest of an input}.
        remedy: what to do, except keeping the settings, such as "choose a different --output".
    """
    settings, known = json.loads(json.dumps(settings)), read_json(record, {})
    runs = [folder for folder in (known.get("run"), run) if folder]
    begun = [folder for folder in runs if Path(folder, "config.json").exists()]
    if not known or not begun:
        Path(record).parent.mkdir(parents=True, exist_ok=True)
        write_json(record, {"run": str(Path(run).resolve()), "settings": settings})
    elif known["settings"] != settings:
        raise ValueError(
            f"{begun[0]} was begun with other settings. Changed: "
            f"{changes(known['settings'], settings)}. Keep them, or {remedy}"
        )


def changes(before, after):
    """Returns the settings that differ, as text."""
    shown = []
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old != new:
            is_short = max(len(str(old)), len(str(new))) <= LONGEST
            shown.append(f"{name} (was {old}, is {new})" if is_short else name)
    return ", ".join(shown)
