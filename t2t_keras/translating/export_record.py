"""The record in an export: search settings, facts about the model, and digests of the files.

This module imports neither TensorFlow nor Keras.
"""

import hashlib

from pipelines.atomic_files import read_json, write_json

RECORD = "export.json"  # record in a CTranslate2 folder


def digests_in(folder):
    """Returns {name: SHA-256} for the files in a folder."""
    digests = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with open(path, "rb") as file:
            name = path.relative_to(folder).as_posix()
            digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def write_record(folder, facts, name=RECORD):
    """Writes the record of a folder. Its other files must be complete."""
    write_json(folder / name, facts | {"files": digests_in(folder)})


def read_record(folder, remedy, name=RECORD):
    """Returns the record of a folder after verifying the digests of its files.

    Args:
        folder: path of the folder.
        remedy: advice for the user if the folder cannot be used.
        name: name of the record.
    """
    record = read_json(folder / name, remedy=remedy)
    if record is None:
        raise unusable(folder, f"it has no {name}, which t2t-export writes", remedy)
    if not isinstance(record.get("files"), dict) or "search" not in record:
        reason = "it was written by an earlier version, without search settings"
        raise unusable(folder, reason, remedy)
    found = digests_in(folder)
    for path, digest in record["files"].items():
        if path not in found:
            raise unusable(folder, f"{path} is missing", remedy)
        if found[path] != digest:
            raise unusable(folder, f"{path} does not match its SHA-256 in {name}", remedy)
    return record


def unusable(folder, reason, remedy):
    return ValueError(f"{folder} cannot be used: {reason}. {remedy}")
