"""SavedModels of runs: how a version is added, and how one is used as a run is."""

import dataclasses
import math
import shutil
from pathlib import Path

import tensorflow as tf

from pipelines.tokenizers import MARKS
from pipelines.whole import only_one, read_json, whole_folder, write_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.decoding.translator import Translation
from t2t_keras.export.loading import load
from t2t_keras.export.saved_model import save_ids_model, save_text_model
from t2t_keras.export.text_signatures import NO_SCORE
from t2t_keras.serving.versions import versions_in

LINES = 256  # given to the model at a time


def save_version(target, folder, config, weights=None, dtype="float32", ids_only=False):
    """Writes the next version of a run's SavedModel.

    Args:
        target: a `Run`.
        folder: where versions 1, 2, … stand.
        config: the `SearchConfig`.
        weights: which of the run's.
        dtype: how they are stored.
        ids_only: take ids and not text.

    Returns:
        The version's folder.
    """
    model, tokenizer = target.model(weights), target.tokenizer()
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        version = folder / str(max(versions_in(folder), default=0) + 1)
        with whole_folder(version) as unfinished:
            if ids_only:
                save_ids_model(unfinished, model, config, dtype)
            else:
                pieces = [
                    MARKS.get(id, piece)
                    for id, piece in enumerate(tokenizer.pieces(range(tokenizer.size)))
                ]
                save_text_model(
                    *(unfinished, model, config, tokenizer.in_graph(), pieces),
                    *(tokenizer.begins_word, dtype),
                )
            shutil.copytree(target.folder / "vocabulary", unfinished / "vocabulary")
            settings = read_json(target.config_file)
            settings["export"] = {"search": dataclasses.asdict(config), "dtype": dtype}
            write_json(unfinished / "config.json", settings)
    return version


def export_in(folder):
    """The folder of the SavedModel that is meant: itself, its newest version, or None."""
    folder = Path(folder)
    if (folder / "saved_model.pb").exists():
        return folder
    found = versions_in(folder)
    whole = [number for number, path in found.items() if (path / "saved_model.pb").exists()]
    return found[max(whole)] if whole else None


class Export:
    """A SavedModel that t2t-export wrote.

    Args:
        folder: its folder.
    """

    def __init__(self, folder):
        settings = read_json(folder / "config.json", {}).get("export")
        model = load(folder)
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
