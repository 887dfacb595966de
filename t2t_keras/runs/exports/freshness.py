"""Whether the exports inside a run belong to the run as it is now.

A run's weights change (t2t-average, further training), and so may its settings and the code of its
model. This module imports neither TensorFlow nor Keras.
"""

import contextlib
import hashlib
import importlib.metadata
import inspect
import shlex
from pathlib import Path

from absl import logging

from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.formats import FORMATS
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.exports import record_of, versions_in

PACKAGE = Path(__file__).parents[2]


def records_in(run, format):
    """Returns the records of a run's own exports in a format, oldest first.

    Damaged ones are left out: they are reported when they are used.
    """
    row = FORMATS[format]
    versions = versions_in(run.folder / row.place) if row.has_versions else {}
    records = [record_of(version) for _, version in sorted(versions.items())]
    return [record for record in records if "asked" in record]


def asked_for(run, weights, **options):
    """Returns what an export was asked for, for its record.

    Args:
        run: the `RunFolder`.
        weights, **options: arguments of `Run.export`.
    """
    options = {name: value for name, value in options.items() if value is not None}
    return {"weights": weights, "to": run.to, "options": options}


def is_default(record):
    """Returns whether an export has the weights and the search that its run has by default."""
    asked, free = record["asked"], {"n_best", "languages", "dtype"}
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
    run, record = RunFolder(version.parent.parent), record_of(version)
    row = FORMATS.get(record.get("format"))
    if row and version.parent.name == row.place and run.config_file.is_file():
        with contextlib.suppress(OSError, ValueError, KeyError):  # the run may be incomplete
            if reason := stale(run, record, weights):
                command = shlex.join(["t2t-export", str(run.folder), "--renew"])
                logging.warning("%s: %s. %s exports it again", version, reason, command)


def code_of(model_class):
    """Returns the version of this package, and {file: SHA-256} of a model's class and the layers.

    Args:
        model_class: the model's class.
    """
    paths = [Path(inspect.getfile(each)) for each in model_class.__mro__[:-1]]
    paths = [path for path in paths if path.is_relative_to(PACKAGE)]
    paths += PACKAGE.glob("layers/**/*.py")
    files = {path.relative_to(PACKAGE).as_posix(): sha256(path) for path in sorted(paths)}
    return {"version": version(), "files": files}


def changed_code(recorded):
    """Returns the files that have changed since `code_of` recorded them, in the same version."""
    files = recorded["files"] if recorded["version"] == version() else {}
    return [name for name, digest in files.items() if sha256(PACKAGE / name) != digest]


def version():
    return importlib.metadata.version("t2t-keras")


def sha256(path):
    return hashlib.sha256(path.read_bytes() if path.is_file() else b"").hexdigest()
