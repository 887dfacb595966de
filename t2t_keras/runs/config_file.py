"""Reads a run's config.json without TensorFlow and Keras; see `settings_file.py`."""

from pipelines.atomic_files import read_json, with_tuples
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.translating.exports import for_other_programs

NOT_A_RUN = "not a run: it has no config.json. t2t-train creates runs"
RESTORE = 'Restore it from a copy. If you edited it on purpose, delete its entry "checksum"'


def read_config(path):
    """Returns the contents of a config.json written by `write_settings`."""
    contents = read_json(path, remedy=RESTORE)
    if contents is None:
        raise ValueError(f"{path.parent} is {for_other_programs(path.parent) or NOT_A_RUN}")
    if not isinstance(contents.get("experiment"), dict):
        raise invalid(path, "it has no settings of an experiment")
    return contents


def made_from(contents):
    """Returns the license, and the name on the Hugging Face Hub, of what a run was made from.

    Either is None if config.json does not tell it. An import records them, and training with --init
    copies them.
    """
    origin, base = contents.get("origin") or {}, contents.get("base") or {}
    license = contents.get("license") or origin.get("license") or base.get("license")
    return {"license": license, "hub": origin.get("hub") or base.get("hub")}


def search_in(path):
    """Returns the `SearchConfig` in a config.json."""
    settings = with_tuples(read_config(path)["experiment"])
    try:
        return SearchConfig(**settings["search"])
    except (KeyError, TypeError) as error:
        raise invalid(path, error) from error


def invalid(path, error):
    if isinstance(error, KeyError):
        error = f"{error} is missing"
    return ValueError(f"{path} does not describe a run: {error}. {RESTORE}")
