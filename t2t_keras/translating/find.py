"""Finds the export in a folder and opens it as a `Translator`."""

from pathlib import Path

from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine, is_ctranslate2
from t2t_keras.translating.export_folders import find_export, is_litert
from t2t_keras.translating.translator import Translator


def is_export(folder):
    """Returns whether a folder contains an export that `load_translator` opens."""
    return is_ctranslate2(folder) or find_export(folder) is not None


def needs_tensorflow(folder):
    """Returns whether the export in a folder needs TensorFlow, as a SavedModel does."""
    export = find_export(folder)
    return not is_ctranslate2(folder) and (export is None or not is_litert(export))


def load_translator(folder, to=None):
    """Returns the `Translator` of an export.

    It is a CTranslate2 folder, or the newest SavedModel or model for LiteRT in it.

    Args:
        folder: path of the folder.
        to: see `Translator`. None: the tag that the run was exported with.

    Raises:
        ValueError: the folder contains no export, or one of an earlier version.
    """
    if is_ctranslate2(folder):
        return Translator(CTranslate2Engine(folder), to)
    export = find_export(folder)
    if export is None:
        raise ValueError(f"{Path(folder)} contains no export. t2t-export RUN writes one")
    if is_litert(export):
        from t2t_keras.translating.engines.litert import LiteRTEngine as Engine  # loads LiteRT
    else:
        from t2t_keras.translating.engines.saved_model import (
            SavedModelEngine as Engine,  # TensorFlow
        )

    engine = Engine(export)
    return Translator(engine, to or engine.tag)
