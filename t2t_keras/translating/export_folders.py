"""Finds exports in folders and reads their settings, without TensorFlow and Keras."""

from pathlib import Path

from pipelines.atomic_files import read_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.export.formats import LITERT_MODEL, LITERT_RECORD, PORTABLE_RECORD, versions_in

EXPORT_AGAIN = "Delete the folder and export the run again with t2t-export"


def find_export(folder):
    """Returns the folder of the newest SavedModel or LiteRT model in a folder, or None.

    This is the folder itself or, if it contains numbered versions, the newest version.
    """
    folder = Path(folder)
    if is_version(folder):
        return folder
    versions = {n: path for n, path in versions_in(folder).items() if is_version(path)}
    return versions[max(versions)] if versions else None


def other_export(path):
    """Returns what an export is that only other programs open, or None."""
    path = Path(path)
    if path.suffix == ".keras":
        return "a Keras model. keras.saving.load_model opens it after `import t2t_keras`"
    if path.suffix == ".argosmodel":
        return "a package for Argos Translate, which opens it"
    folders = path, path.parent, *versions_in(path).values()
    if any((folder / PORTABLE_RECORD).exists() for folder in folders):
        return "a portable export. Other programs open it with LiteRT, with ids in and out"
    return None


def is_version(folder):
    return is_saved_model(folder) or is_litert(folder)


def is_saved_model(folder):
    """Returns whether a folder contains a SavedModel, complete or not."""
    return any((folder / name).exists() for name in ("saved_model.pb", "assets.extra"))


def is_litert(folder):
    """Returns whether a folder contains a LiteRT model, complete or not."""
    return any((folder / name).exists() for name in (LITERT_MODEL, LITERT_RECORD))


def search_of(folder):
    """Returns the `SearchConfig` of an export, or None if its config.json has none."""
    path = folder / "config.json"
    try:
        return SearchConfig(**read_json(path, {}, EXPORT_AGAIN)["export"]["search"])
    except KeyError:
        return None
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path} does not describe an export: {error}. {EXPORT_AGAIN}") from error


def tag_of(folder):
    """Returns the tag that an export puts before each source, or None."""
    return read_json(folder / "config.json", {}, EXPORT_AGAIN).get("export", {}).get("tag")


def longest_of(folder):
    """Returns the maximum length of a text for an export, in tokens. None: no maximum.

    It equals the model's `longest`. Exports of earlier versions do not record it. In them, only
    models with learned positions have a maximum.
    """
    settings = read_json(folder / "config.json", {}, EXPORT_AGAIN)
    if "longest" in settings.get("export", {}):
        return settings["export"]["longest"]
    model = settings.get("experiment", {}).get("model", {})
    if model.get("positions", "learned") != "learned" or "max_length" not in model:
        return None
    return model["max_length"] - model.get("position_offset", 0)
