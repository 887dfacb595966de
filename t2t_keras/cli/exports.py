"""Exported models, for the commands that use them as they use runs."""

import math
from pathlib import Path

import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the operations of a model that takes text

from pipelines.whole import read_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.decoding.translator import Translation
from t2t_keras.export.text_signatures import NO_SCORE

LINES = 256  # given to the model at a time


def export_in(folder):
    """The folder of the SavedModel that is meant: itself, its newest version, or None."""
    folder = Path(folder)
    if (folder / "saved_model.pb").exists():
        return folder
    found = [
        path.parent for path in folder.glob("*/saved_model.pb") if path.parent.name.isdecimal()
    ]
    return max(found, key=lambda path: int(path.name), default=None)


class Export:
    """A SavedModel that t2t-export wrote.

    Args:
        folder: its folder.
    """

    def __init__(self, folder):
        settings = read_json(folder / "config.json", {}).get("export")
        model = tf.saved_model.load(folder)
        if settings is None or "attention" not in model.signatures:
            raise ValueError(
                f"{folder} is no SavedModel that takes text. t2t-export RUN, without --ids_only, "
                "makes one"
            )
        self.config = SearchConfig(**settings["search"])
        self.model = model  # its variables live as long as it does
        self.found = model.signatures["translate_n_best"]

    def translate(self, texts, advanced=lambda count: None):
        """As `Translator.translate`."""
        results = []
        for start in range(0, len(texts), LINES):
            found = self.found(text=tf.constant(texts[start : start + LINES]))
            both = (found["translations"].numpy().tolist(), found["scores"].numpy().tolist())
            for translations, scores in zip(*both, strict=True):
                results.append(
                    [
                        Translation(text.decode(), score, [])
                        for text, score in zip(translations, scores, strict=True)
                        if not math.isclose(score, NO_SCORE)
                    ]
                )
            advanced(len(results))
        return results
