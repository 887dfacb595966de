"""Whether the exports inside a run belong to the run as it is now.

A run's weights change (t2t-average, further training), and so may its settings and the code of its
model. This module imports neither TensorFlow nor Keras.
"""

import contextlib
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
        options: the arguments of `Run.export`.
        purpose: purpose of such an export, for messages.
    """

    record: str
    options: dict
    purpose: str


PLACES = {
    "export": Place(
        "config.json", {"format": "saved_model"}, "SavedModel with text in and text out"
    ),
    "export_ids": Place(
        "config.json",
        {"format": "saved_model", "ids_only": True},
        "SavedModel with ids in and ids out",
    ),
    "export_litert": Place(
        LITERT_RECORD, {"format": "litert"}, "model for LiteRT, which translates on CPUs"
    ),
    "export_portable": Place(
        PORTABLE_RECORD, {"format": "litert", "portable": True}, "portable file with the search"
    ),
    "export_ctranslate2": Place(
        RECORD, {"format": "ctranslate2", "force": True}, "folder for CTranslate2"
    ),
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


def asked_for(run, weights, **options):
    """Returns what an export was asked for, for its record.

    Args:
        run: the `RunFolder`.
        weights, **options: arguments of `Run.export`.
    """
    return {"weights": weights, "to": run.to, "options": options, "search": search_of(run)}


def search_of(run):
    return as_recorded(run.search_settings())


def is_default(record):
    """Returns whether an export has the weights and the search that its run has by default."""
    asked = record["asked"]
    given = (name for name, value in asked["options"].items() if value is not None)
    return asked["weights"] is None and {*given} <= {"n_best", "languages"}


def stale(run, record):
    """Returns why an export does not belong to a run as it is now, or "".

    Weights that the user chose for the export are not compared.

    Args:
        run: the `RunFolder`.
        record: the record of the export.
    """
    asked = record["asked"]
    if asked["weights"] is None and record["weights"]["file"] != run.weights_file_digest():
        return f"it does not have the present weights of {run.folder}"
    if record["settings"] != run.settings_digest() or asked["search"] != search_of(run):
        return f"it does not have the present settings of {run.folder}"
    if changed := changed_code(record["code"]):
        return f"the code of the model has changed since: t2t_keras/{changed[0]}"
    return ""


def warn_if_stale(version):
    """Warns of an export inside a run that does not belong to the run as it is now.

    Args:
        version: folder of the export.
    """
    version = Path(version).resolve()
    for place in (version, version.parent):
        if place.name not in PLACES or not (place.parent / "config.json").is_file():
            continue
        run, options = RunFolder(place.parent), PLACES[place.name].options
        with contextlib.suppress(OSError, ValueError, KeyError):  # the run may be incomplete
            record = record_of(version, place.name)
            if reason := stale(run, record):
                flags = f"--format={options['format']} --dtype={record['dtype']}"
                flags += "".join(f" --{name}" for name in options if name != "format")
                logging.warning(
                    "%s: %s. t2t-export %s %s renews it", version, reason, run.folder, flags
                )
