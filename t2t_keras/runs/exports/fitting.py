"""The exports of a run that belong to it as it is now, and the engine that uses them.

A run's weights change (t2t-average, further training), and so may its settings. This
module imports neither TensorFlow nor Keras.
"""

import contextlib
import glob
import os
import shlex
from pathlib import Path

from absl import logging

from t2t_keras.checks import check_choice
from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.formats import ENGINES, FORMATS, LITERT_DTYPES
from t2t_keras.runs.plugins.plugin_files import load_method
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.exports import open_export, record_of, versions_in


class NoExport(ValueError):
    """A run has no export for an engine with the requested weights."""


def fastest_engine(run, engine, dtype, weights, on_tensorflow, method=None):
    """Returns the fastest engine for a run on this machine.

    `on_tensorflow` returns the run's engine on TensorFlow. For other arguments, see `open_engine`.
    """
    kind, must = requested(engine, dtype)
    if kind == "tensorflow" or (not must and has_gpu()):
        return on_tensorflow()
    try:
        found = open_version(run, fitting(run, kind, dtype or "float32", weights), method)
    except NoExport as reason:
        if must:
            raise
        # TensorFlow starts slower.
        logging.warning("TensorFlow translates, which takes longer: %s", reason)
        return on_tensorflow()
    found.name = run.folder
    found.substitute = None if must else on_tensorflow
    return found


def requested(engine, dtype):
    """Returns the kind of engine to try for a run, and whether TensorFlow may not replace it."""
    check_choice("engine", engine, ENGINES)
    must = engine != "auto" or dtype not in (None, "float32")
    if engine == "tensorflow":
        if dtype not in (None, "float32"):
            raise ValueError(
                "--engine=tensorflow computes with weights in float32. Received: "
                f"--dtype={dtype}. Give --engine=litert, or leave out one of them"
            )
    elif engine != "ctranslate2" and dtype is not None:
        check_choice("dtype", dtype, LITERT_DTYPES)
    return "litert" if engine == "auto" else engine, must


def has_gpu():
    """Returns whether TensorFlow may find a GPU: an NVIDIA GPU that is not hidden from it."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    return hidden not in ("", "-1") and bool(glob.glob("/dev/nvidia[0-9]*"))


def open_version(run, version, method=None):
    """Returns the engine of an export, with the search methods and alignment head of its run."""
    if run.config_file.exists():
        for name in (run.search_settings().method, method or "beam"):
            load_method(run.folder, name)
    try:
        engine = open_export(version)
        if engine.kind == "litert":
            engine.align_with(run.alignment_choice())
    except ValueError as error:
        raise NoExport(str(error)) from error
    return engine


def fitting(run, format, dtype, weights=None):
    """Returns the newest version of a run's exports that belongs to its weights and settings.

    If there is none, raises `NoExport`. `dtype` is the type of the stored weights.
    """
    versions = fitting_versions(run, format, dtype, weights)
    return versions[max(versions)]


def fitting_versions(run, format, dtype, weights=None):
    """Returns {number: folder} of the versions that belong to a run; see `fitting`."""
    folder = run.folder / FORMATS[format].place
    wanted = dtype, run.weights_file_digest(weights), run.settings_digest()
    wanted += (comparable(run.search_settings()),)

    def facts(record):
        search = comparable(record.get("search", {}))
        file = record.get("weights", {}).get("file")
        return record.get("dtype"), file, record.get("settings"), search

    fit = {n: path for n, path in versions_in(folder).items() if facts(record_of(path)) == wanted}
    if not fit:
        flags = f" --weights={weights}" if weights else ""
        raise NoExport(
            f"{folder} has no export in {dtype} of the run's present weights and settings. "
            f"t2t-export {run.folder} --format={format} --dtype={dtype}{flags} writes one"
        )
    return fit


def comparable(search):
    """Returns search settings in JSON types, without the number of results."""
    return as_recorded(search) | {"n_best": None}


def stale(run, record):
    """Returns why an export like the recorded one would differ now, or ""."""
    with contextlib.suppress(ValueError):  # the chosen checkpoint is gone: nothing replaces it
        if record["weights"]["file"] != run.weights_file_digest(record["asked"]["weights"]):
            return f"it does not have the present weights of {run.folder}"
    settings = run.settings_digest(), as_recorded(run.search_settings())
    if settings != (record["settings"], record["search_of_run"]):
        return f"it does not have the present settings of {run.folder}"
    return ""


def warn_if_stale(version):
    """Warns of an export in the folder `version` if it is in a run and `stale`."""
    version = Path(version).resolve()
    run, record = RunFolder(version.parent.parent), record_of(version)
    row = FORMATS.get(record.get("format"))
    if row and version.parent.name == row.place and run.config_file.is_file():
        with contextlib.suppress(OSError, ValueError, KeyError):  # the run may be incomplete
            if reason := stale(run, record):
                command = shlex.join(["t2t-export", str(run.folder), "--renew"])
                logging.warning("%s: %s. %s exports it again", version, reason, command)
