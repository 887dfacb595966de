"""Whether the exports inside a run belong to the run as it is now.

A run's weights change (t2t-average, further training), and so may its settings and the code of its
model. This module imports neither TensorFlow nor Keras.
"""

import contextlib
import shlex
from pathlib import Path
from typing import NamedTuple

from absl import logging

from pipelines.atomic_files import read_json
from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.formats import LITERT_RECORD, PORTABLE_RECORD, versions_in
from t2t_keras.export.model_code import changed_code
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.export_record import RECORD


class Place(NamedTuple):
    """A folder inside a run for one kind of export.

    Args:
        record: name of the file with the record of an export.
        format: the argument of `Run.export`.
        purpose: purpose of such an export, for messages.
    """

    record: str
    format: str
    purpose: str


# The small ones first, in case the disk is full.
PLACES = {
    "export_litert": Place(LITERT_RECORD, "litert", "model for LiteRT, which translates on CPUs"),
    "export_portable": Place(PORTABLE_RECORD, "litert", "portable file with the search"),
    "export_ctranslate2": Place(RECORD, "ctranslate2", "folder for CTranslate2"),
    "export": Place("config.json", "saved_model", "SavedModel with text in and text out"),
    "export_ids": Place("config.json", "saved_model", "SavedModel with ids in and ids out"),
}


def records_in(run, name):
    """Returns the records of the exports in one of the `PLACES` of a run, oldest first."""
    folder = run.folder / name
    versions = {1: folder} if name == "export_ctranslate2" else versions_in(folder)
    records = []
    for _, version in sorted(versions.items()):
        with contextlib.suppress(OSError, ValueError):  # a damaged one is reported when it is used
            record = record_of(version, name)
            if "asked" in record:
                records.append(record)
    return records


def record_of(version, name):
    """Returns the record of an export in one of the `PLACES`; {} if it has none."""
    record = read_json(version / PLACES[name].record, {})
    return record.get("export", {}) if "experiment" in record else record


def asked_for(run, weights, dtype, **options):
    """Returns what an export was asked for, for its record.

    Args:
        run: the `RunFolder`.
        weights, dtype, **options: arguments of `Run.export`.
    """
    given = {
        name: value for name, value in options.items() if value is not None and value is not False
    }
    return {"weights": weights, "to": run.to, "options": given | {"dtype": dtype}}


def is_default(record):
    """Returns whether an export has the weights and the search that its run has by default."""
    asked, free = record["asked"], {"n_best", "languages", "dtype", "force"}
    is_float32 = record["dtype"] == "float32"
    return is_float32 and asked["weights"] is None and {*asked["options"]} <= free


def stale(run, record, weights=None):
    """Returns why the same export would differ now, or "".

    Args:
        run: the `RunFolder`.
        record: the record of the export.
        weights: the weights that the user wants. None: those that the export was asked for.
    """
    weights = weights or record["asked"]["weights"]
    with contextlib.suppress(ValueError):  # the chosen checkpoint is gone: nothing replaces it
        if record["weights"]["file"] != run.weights_file_digest(weights):
            return f"it does not have the present weights of {run.folder}"
    settings = run.settings_digest(), as_recorded(run.search_settings())
    if settings != (record["settings"], record["search_of_run"]):
        return f"it does not have the present settings of {run.folder}"
    if changed := changed_code(record["code"]):
        return f"the code of the model has changed since: t2t_keras/{changed[0]}"
    return ""


def warn_if_stale(version, weights=None):
    """Warns of an export inside a run that does not belong to the run as it is now.

    Args:
        version: folder of the export.
        weights: see `stale`.
    """
    version = Path(version).resolve()
    for place in (version, version.parent):
        if place.name in PLACES and (place.parent / "config.json").is_file():
            run = RunFolder(place.parent)
            with contextlib.suppress(OSError, ValueError, KeyError):  # the run may be incomplete
                if reason := stale(run, record_of(version, place.name), weights):
                    command = shlex.join(["t2t-export", str(run.folder), "--renew"])
                    logging.warning("%s: %s. %s exports it again", version, reason, command)
