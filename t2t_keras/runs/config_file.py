"""Reads a run's config.json without TensorFlow and Keras; see `settings_file.py`."""

import contextlib
from pathlib import Path

from pipelines.atomic_files import read_json, with_tuples
from pipelines.batches.corpora import corpora_in
from pipelines.batches.id_store import SIDES
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


def preparation_of(data):
    """Returns the `preparation.json` of a run's data, or None if it is not found.

    Args:
        data: the setting `data.folder`. If it lists several corpora, the first one is used.
    """
    if not data:
        return {}
    try:
        folder = corpora_in(data)[0].folder
    except ValueError:  # the folder is gone, and its name looks like a list of corpora
        return None
    return read_json(Path(folder) / "preparation.json")


def corpora_facts(data):
    """Returns the `facts_of_corpus` for each corpus of a run's data.

    Args:
        data: the setting `data.folder`.
    """
    try:
        folders = [corpus.folder for corpus in corpora_in(data)] if data else []
    except ValueError:  # the folder is gone, and its name looks like a list of corpora
        folders = [data]
    return [facts_of_corpus(folder) for folder in folders]


def facts_of_corpus(folder):
    """Returns a corpus' folder, number of pairs, words of both sides, and files, as a dict.

    Facts that are not found, because the folder is gone or from an earlier version, are None.
    """
    facts = {"folder": folder, "pairs": None, "words": None, "files": []}
    # The facts are only shown, so a damaged file must not end the command.
    with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError, OSError):
        facts["pairs"] = sum(read_json(Path(folder) / "store.json").values())
        report = read_json(Path(folder) / "report.json")
        facts["words"] = [int(report["sides"][side]["words"]) for side in SIDES]
        facts["files"] = list(map(str, report.get("files", [])))
    return facts


def recorded_corpora(contents):
    """Returns the `facts_of_corpus` in a config.json; [] for one of an earlier version."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return [
            {
                "folder": str(each["folder"]),
                "pairs": each["pairs"] and int(each["pairs"]),
                "words": each["words"] and [int(each["words"][0]), int(each["words"][1])],
                "files": list(map(str, each["files"])),
            }
            for each in contents["corpora"]
        ]
    return []


def recorded_counts(contents):
    """Returns {name of a held-out set: number of pairs} as a config.json records it."""
    with contextlib.suppress(KeyError, TypeError, ValueError, AttributeError):
        return {name: int(count) for name, count in contents["held_out"].items()}
    return {}


def made_from(contents):
    """Returns the license, and the name on the Hugging Face Hub, of what a run was made from.

    Either is None if it is unknown. An import records them, and training with --init copies them.

    Args:
        contents: the contents of a config.json.
    """
    origin, base = contents.get("origin") or {}, contents.get("base") or {}
    license = contents.get("license") or origin.get("license") or base.get("license")
    return {"license": license, "hub": origin.get("hub") or base.get("hub")}


def search_in(path):
    """Returns the `SearchConfig` in a config.json."""
    settings = with_tuples(read_config(path)["experiment"])
    try:
        return SearchConfig(**settings.get("search", {}))
    except TypeError as error:
        raise invalid(path, error) from error


def invalid(path, error):
    if isinstance(error, KeyError):
        error = f"{error} is missing"
    return ValueError(f"{path} does not describe a run: {error}. {RESTORE}")
