"""Reads vocabularies and JSON files next to a model of another system."""

import json
import re

from t2t_keras.importing.files.whole_file import reading

NAMES_OF_SIDES = {"source": ("source", "src"), "target": ("target", "trg", "tgt")}


def find_vocabularies(folder, suffixes, expected):
    """Returns the paths of the source and target vocabularies, or of the shared vocabulary.

    Files with "vocab" in their name and one of the suffixes are considered.
    """
    found = sorted(path for path in folder.glob("*vocab*") if path.suffix in suffixes)
    if len(found) == 1:
        return found
    sides = [
        [path for path in found if set(re.split(r"[._-]|vocab", path.name)) & set(names)]
        for names in NAMES_OF_SIDES.values()
    ]
    if len(found) == 2 and all(len(side) == 1 for side in sides):
        return [*sides[0], *sides[1]]
    raise ValueError(
        f"{folder} must have {expected}. It has: {', '.join(path.name for path in found) or 'none'}"
    )


def read_lines(path):
    """Returns the lines of a text file without `\\n` or `\\r\\n`."""
    with reading(path, "text file in UTF-8"):
        text = path.read_bytes().decode()
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def read_json_file(path, default, kind=dict):
    """Returns the contents of a JSON file of this kind, or `default` if there is none."""
    if not path.exists():
        return default
    with reading(path, "JSON file"):
        contents = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(contents, kind):
            raise ValueError(f"it must hold a JSON {'list' if kind is list else 'object'}")
    return contents
