"""Finds the export in a folder and opens it as a `Translator`."""

from pathlib import Path

from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine, is_ctranslate2
from t2t_keras.translating.export_folders import find_export, is_litert, other_export
from t2t_keras.translating.translator import Translator


def is_export(folder):
    """Returns whether a folder contains an export that `load_translator` opens."""
    return is_ctranslate2(folder) or find_export(folder) is not None


def needs_tensorflow(folder):
    """Returns whether the export in a folder needs TensorFlow, as a SavedModel does."""
    export = find_export(folder)
    return not is_ctranslate2(folder) and (export is None or not is_litert(export))


def load_translator(folder, to=None, engine="auto", dtype=None):
    """Returns a `Translator` for the export in a folder.

    The export is a CTranslate2 folder, or the newest SavedModel or LiteRT model in the folder.

    Args:
        folder: path of the folder.
        to: see `Translator`. None: the tag with which the run was exported.
        engine: kind of engine that the export must be for. "auto": any.
        dtype: dtype that the weights must have. None: any.

    Raises:
        ValueError: the folder contains no such export, or an earlier version wrote it.
    """
    found = load_engine(folder, engine, dtype)
    return Translator(found, to or found.tag)


def load_engine(folder, engine="auto", dtype=None):
    """Returns the engine of an export; see `load_translator`."""
    found = engine_in(folder)
    check_kind(found.name, found.kind, found.dtype, engine, dtype)
    return found


def check_kind(name, kind, its_dtype, engine, dtype):
    """Rejects an export of a kind or dtype other than the requested ones.

    Args:
        name, kind, its_dtype: folder, kind of engine and dtype of the export.
        engine, dtype: see `load_translator`.
    """
    if engine not in ("auto", kind):
        raise ValueError(
            f"{name} is for --engine={kind}. Received: --engine={engine}. Leave it out, or give "
            "the run"
        )
    if dtype not in (None, its_dtype):
        raise ValueError(
            f"{name} has weights in {its_dtype}. Received: --dtype={dtype}. Leave it out, or "
            f"export the run with t2t-export --dtype={dtype}"
        )


def engine_in(folder):
    """Returns the engine of the export in a folder."""
    if is_ctranslate2(folder):
        return CTranslate2Engine(folder)
    export = find_export(folder)
    if export is None and (Path(folder) / "config.json").is_file():
        raise ValueError(
            f"{folder} is a run. Give one of its exports, such as {folder}/export_litert, or use "
            "load_translator of t2t_keras.runs"
        )
    if export is None:
        what = other_export(folder)
        reason = f"is {what}" if what else "contains no export. t2t-export RUN writes one"
        raise ValueError(f"{Path(folder)} {reason}")
    if is_litert(export):
        from t2t_keras.translating.engines.litert import LiteRTEngine as Engine  # loads LiteRT
    else:
        from t2t_keras.translating.engines.saved_model import (
            SavedModelEngine as Engine,  # loads TensorFlow
        )

    return Engine(export)
