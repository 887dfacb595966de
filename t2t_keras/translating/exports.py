"""Exports on disk: their records, and the engines that open them.

An export is a folder with numbered versions, or one of these versions. Every version contains an
export.json: the search settings, facts about the model, and the SHA-256 of each other file. This
module imports neither TensorFlow nor Keras.
"""

import contextlib
import hashlib
import importlib
import shutil
from pathlib import Path

from pipelines.atomic_files import atomic_folder, locked_folder, read_json, write_json
from t2t_keras.export.formats import FORMATS

RECORD = "export.json"
EXPORT_AGAIN = "Delete the folder and export the run again with t2t-export"
ENGINES = {
    "tensorflow": ("t2t_keras.translating.engines.saved_model", "SavedModelEngine"),
    "litert": ("t2t_keras.translating.engines.litert", "LiteRTEngine"),
    "ctranslate2": ("t2t_keras.translating.engines.ctranslate2", "CTranslate2Engine"),
}


def write_version(folder, write, facts):
    """Writes the next version into the folder of an export, and returns the version's folder.

    `write` writes its files into the new folder, and may return further facts for its record, which
    has JSON types.
    """
    with locked_folder(folder):
        for leftover in folder.glob("[0-9]*.unfinished"):  # of a process that was killed
            shutil.rmtree(leftover)
        version = folder / str(max(versions_in(folder), default=0) + 1)
        with atomic_folder(version) as unfinished:
            facts = facts | (write(unfinished) or {})
            write_json(unfinished / RECORD, facts | {"files": digests_in(unfinished)})
    return version


def versions_in(folder):
    """Returns {number: path} of the numbered subfolders, one for each version of an export."""
    folder = Path(folder)
    if not folder.is_dir():
        return {}
    return {
        int(path.name): path
        for path in sorted(folder.iterdir())
        if path.name.isascii() and path.name.isdecimal() and path.is_dir()
    }


def newest_in(folder):
    """Returns the folder of the newest version in an export, or None if it is no export."""
    folder = Path(folder)
    found = {n: path for n, path in versions_in(folder).items() if (path / RECORD).exists()}
    if (folder / RECORD).exists():
        return folder
    return found[max(found)] if found else None


def record_of(version):
    """Returns the record of a version; {} if it has none, or one that is damaged."""
    with contextlib.suppress(OSError, ValueError):
        return read_json(Path(version) / RECORD, {})
    return {}


def verified_record(version):
    """Returns the record of a version after verifying the digests of its files."""
    record = read_json(version / RECORD, remedy=EXPORT_AGAIN)
    if record is None:
        raise unusable(version, f"it has no {RECORD}, which t2t-export writes")
    found = digests_in(version)
    for path, digest in dict(record.get("files") or {RECORD: ""}).items():
        if path not in found:
            raise unusable(version, f"{path} is missing")
        if found[path] != digest:
            raise unusable(version, f"{path} does not match its SHA-256 in {RECORD}")
    return record


def digests_in(folder):
    """Returns {name: SHA-256} of the files in a folder."""
    digests = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with open(path, "rb") as file:
            name = path.relative_to(folder).as_posix()
            digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return digests


def unusable(version, reason):
    return ValueError(f"{version} cannot be used: {reason}. {EXPORT_AGAIN}")


def is_export(folder):
    """Returns whether a folder is an export that `open_export` opens."""
    version = newest_in(folder)
    return version is not None and engine_of(version) is not None


def engine_of(version):
    """Returns the kind of the engine that opens a version. None: only other programs open it."""
    row = FORMATS.get(record_of(version).get("format"))
    return "tensorflow" if row is None else row.engine  # the engine reports a damaged record


def for_other_programs(path):
    """Returns what an export is that only other programs open, or None."""
    path = Path(path)
    version = newest_in(path.parent if path.is_file() else path)
    row = FORMATS.get(record_of(version).get("format")) if version else None
    if row is None and not path.is_dir():
        row = {".keras": FORMATS["keras"], ".argosmodel": FORMATS["argos"]}.get(path.suffix)
    return f"a {row.purpose}" if row and row.engine is None else None


def open_export(folder, engine="auto", dtype=None):
    """Returns the engine of the newest version in an export.

    Args:
        folder: path of the export or of a version.
        engine: kind of engine that the export must be for. "auto": any.
        dtype: dtype that the weights must have. None: any.
    """
    version = newest_in(folder)
    if version is None and (Path(folder) / "config.json").is_file():
        raise ValueError(
            f"{folder} is a run. Give one of its exports, such as {folder}/export_litert, or use "
            "load_translator of t2t_keras.runs"
        )
    what = for_other_programs(folder)
    if version is None or what:
        reason = f"is {what}" if what else "contains no export. t2t-export RUN writes one"
        raise ValueError(f"{Path(folder)} {reason}")
    check_kind(version, engine, dtype)
    module, name = ENGINES[engine_of(version)]
    return getattr(importlib.import_module(module), name)(version)


def check_kind(version, engine, dtype):
    """Rejects a version of a kind or dtype other than the requested ones; see `open_export`."""
    kind, its_dtype = engine_of(version), record_of(version).get("dtype")
    if engine not in ("auto", kind):
        raise ValueError(
            f"{version} is for --engine={kind}. Received: --engine={engine}. Leave it out, or give "
            "the run"
        )
    if dtype not in (None, its_dtype):
        raise ValueError(
            f"{version} has weights in {its_dtype}. Received: --dtype={dtype}. Leave it out, or "
            f"export the run with t2t-export --dtype={dtype}"
        )


def load_translator(folder, to=None, engine="auto", dtype=None):
    """Returns a `Translator` for an export.

    Args:
        folder, engine, dtype: see `open_export`.
        to: see `Translator`. None: the tag with which the run was exported.
    """
    from t2t_keras.translating.translator import Translator

    found = open_export(folder, engine, dtype)
    return Translator(found, to or found.tag)
