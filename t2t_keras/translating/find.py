"""Finds the export in a folder and opens it as a `Translator`."""

from pathlib import Path

from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine, is_ctranslate2
from t2t_keras.translating.export_folders import find_export, find_litert
from t2t_keras.translating.translator import Translator


def is_export(folder):
    """Returns whether a folder contains an export that `load_translator` opens."""
    if is_ctranslate2(folder) or find_litert(folder) is not None:
        return True
    return find_export(folder) is not None


def needs_tensorflow(folder):
    """Returns whether the export in a folder is a SavedModel."""
    return not is_ctranslate2(folder) and newest_litert(folder) is None


def newest_litert(folder):
    """Returns the model for LiteRT in a folder, or None if a SavedModel there is newer."""
    litert, saved_model = find_litert(folder), find_export(folder)
    if None in (litert, saved_model) or not litert.name.isdecimal():
        return litert
    return litert if int(litert.name) > int(saved_model.name) else None


def load_translator(folder, to=None):
    """Returns the `Translator` of an export.

    It is a CTranslate2 folder, or the newest version of a model for LiteRT or SavedModel in it.

    Args:
        folder: path of the folder.
        to: see `Translator`. None: the tag that the run was exported with.

    Raises:
        ValueError: the folder contains no export, or one of an earlier version.
    """
    if is_ctranslate2(folder):
        return Translator(CTranslate2Engine(folder), to)
    if (litert := newest_litert(folder)) is not None:
        from t2t_keras.translating.engines.litert import LiteRTEngine  # loads LiteRT

        engine = LiteRTEngine(litert)
        return Translator(engine, to or engine.tag)
    saved_model = find_export(folder)
    if saved_model is None:
        raise ValueError(f"{Path(folder)} contains no export. t2t-export RUN writes one")
    from t2t_keras.translating.engines.saved_model import SavedModelEngine  # loads TensorFlow

    engine = SavedModelEngine(saved_model)
    return Translator(engine, to or engine.tag)
