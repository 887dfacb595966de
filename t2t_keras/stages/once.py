"""Results that are computed once and kept in a file, and runs that keep their settings."""

import json
from pathlib import Path

from pipelines.atomic_files import read_json, write_json

LONGEST = 30  # characters of a value that is shown; digests are longer


def once(path, key, make):
    """Returns the result of `make()`, or the stored result of an earlier call.

    Args:
        path: path of the JSON file that stores the key and the result.
        key: all values that the result depends on, that JSON can hold. A stored result with
            a different key is replaced.
        make: function without arguments that returns JSON types.
    """
    key, earlier = json.loads(json.dumps(key)), read_json(path, {})
    if earlier.get("key") == key:
        return earlier["result"]
    path.unlink(missing_ok=True)  # it no longer describes the files that `make` writes
    result = make()
    write_json(path, {"key": key, "result": result})
    return result


def check_begun(record, run, settings, remedy):
    """Rejects settings that a run was not begun with; records the settings of a new run.

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
