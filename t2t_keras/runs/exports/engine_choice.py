"""Chooses the engine for a run's translations: LiteRT on CPUs, otherwise TensorFlow.

An export is used only if it matches the requested weights and the run's search settings. Choosing
loads neither TensorFlow nor Keras, so a command that translates with LiteRT starts immediately.
"""

import glob
import os
from typing import Any, NamedTuple

from pipelines.atomic_files import read_json
from t2t_keras.checks import check_choice
from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.formats import ENGINES, LITERT_DTYPES, LITERT_RECORD, versions_in
from t2t_keras.runs.exports.freshness import warn_if_stale
from t2t_keras.runs.plugins.plugin_files import load_method
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating.engines.preferred import tell_fallback
from t2t_keras.translating.export_record import RECORD


class Choice(NamedTuple):
    """The engine for a run.

    Args:
        engine: the engine of an export. None: TensorFlow.
        reason: why TensorFlow replaces LiteRT, without a period. "": it was to be used.
    """

    engine: Any
    reason: str = ""

    def tell(self):
        """Says why TensorFlow, which starts slower, replaces LiteRT."""
        if self.reason:
            tell_fallback(self.reason)


def chosen_engine(folder, engine="auto", dtype=None, weights=None, method=None):
    """Returns the `Choice` for the run in a folder.

    Args:
        folder: the run's folder.
        engine: one of `ENGINES`.
        dtype: type of the stored weights. None: float32.
        weights: see `TrainedModel`.
        method: a search method to use besides the run's, which a plug-in file of the run may add.

    Raises:
        ValueError: `engine` or `dtype` requires an export that does not exist.
    """
    kind, must = requested(engine, dtype)
    if kind == "tensorflow":
        return Choice(None)
    if not must and has_gpu():
        return Choice(None)
    try:
        return Choice(opened(RunFolder(folder), kind, dtype, weights, method))
    except NoExport as error:
        if must:
            raise
        return Choice(None, str(error))


class NoExport(ValueError):
    """A run has no export of the requested weights for an engine."""


def requested(engine, dtype):
    """Returns the engine that is tried, and whether TensorFlow may not replace it.

    Args:
        engine, dtype: see `chosen_engine`. Values that contradict each other are rejected.
    """
    check_choice("engine", engine, ENGINES)
    if engine == "tensorflow":
        check_dtype(engine, dtype)
    elif engine != "ctranslate2" and dtype is not None:
        check_choice("dtype", dtype, LITERT_DTYPES)
    must = engine != "auto" or dtype not in (None, "float32")
    return "litert" if engine == "auto" else engine, must


def check_dtype(engine, dtype):
    if dtype not in (None, "float32"):
        raise ValueError(
            f"--engine={engine} computes with weights in float32. Received: --dtype={dtype}. Give "
            "--engine=litert, or leave out one of them"
        )


def has_gpu():
    """Returns whether TensorFlow may find a GPU: an NVIDIA GPU that is not hidden from it."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    return hidden not in ("", "-1") and bool(glob.glob("/dev/nvidia[0-9]*"))


def opened(run, kind, dtype, weights, method=None):
    """Returns the engine of the run's export that belongs to its weights.

    Args:
        run: a `RunFolder`.
        kind: "litert" or "ctranslate2".
        dtype, weights, method: see `chosen_engine`.
    """
    folder = fitting(run, kind, dtype or "float32", weights)
    for name in (run.search_settings().method, method or "beam"):
        load_method(run.folder, name)
    if kind == "litert":
        from t2t_keras.translating.engines.litert import LiteRTEngine as Engine  # loads LiteRT
    else:
        from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine as Engine
    try:
        engine = Engine(folder)
        if kind == "litert":
            engine.align_with(run.alignment_head())
    except ValueError as error:
        raise NoExport(str(error)) from error
    engine.name = run.folder
    warn_if_stale(folder, weights)
    return engine


def fitting(run, kind, dtype, weights=None):
    """Returns the folder of the newest export for an engine that belongs to a run's weights.

    Args:
        run: a `RunFolder`.
        kind: "litert" or "ctranslate2".
        dtype: type of the stored weights.
        weights: see `TrainedModel`.

    Raises:
        NoExport: there is no such export.
    """
    versions = fitting_versions(run, kind, dtype, weights)
    return versions[max(versions)]


def fitting_versions(run, kind, dtype, weights=None):
    """Returns {number: folder} of the exports that belong to a run's weights; see `fitting`."""
    folder = run.folder / f"export_{kind}"
    flags = " --force" if kind == "ctranslate2" else ""
    flags += f" --weights={weights}" if weights else ""
    remedy = f"t2t-export {run.folder} --format={kind} --dtype={dtype}{flags} writes one"
    search, settings = comparable(run.search_settings()), run.settings_digest()
    digest = run.weights_file_digest(weights)
    records, damaged = records_in(folder, kind)
    fit = {number: record for number, record in records.items() if record.get("dtype") == dtype}
    reasons = [
        (f"{folder} has no export with weights in {dtype}", lambda record: True),
        (
            f"no export in {folder} has the weights of {run.folder}",
            lambda record: part(record, "weights").get("file") == digest,
        ),
        (
            f"no export in {folder} has the model, the vocabulary and the tags of {run.folder}",
            lambda record: record.get("settings") == settings,
        ),
        (
            f"no export in {folder} has the search of {run.folder}",
            lambda record: comparable(part(record, "search")) == search,
        ),
    ]
    for reason, has in reasons:
        fit = {number: record for number, record in fit.items() if has(record)}
        if not fit:
            raise NoExport(damaged or f"{reason}. {remedy}")
    return {number: folder_of(folder, kind, number) for number in fit}


def records_in(folder, kind):
    """Returns {number: record} of exports, and the error about an unreadable record or ""."""
    numbers = [0] if kind == "ctranslate2" else versions_in(folder)
    name, records, damaged = RECORD if kind == "ctranslate2" else LITERT_RECORD, {}, ""
    for number in numbers:
        path = folder_of(folder, kind, number) / name
        remedy = f"Delete {path.parent} and export again"
        try:
            if path.exists() and not path.is_file():
                raise ValueError(f"{path} is no file. {remedy}")
            records[number] = read_json(path, {}, remedy)
        except (OSError, ValueError) as error:
            damaged = str(error)
    return records, damaged


def folder_of(folder, kind, number):
    return folder if kind == "ctranslate2" else versions_in(folder)[number]


def part(record, name):
    """Returns a dict in a record; {} if the record does not contain a dict of this name."""
    return found if isinstance(found := record.get(name), dict) else {}


def comparable(search):
    """Returns search settings in JSON types, without the number of results."""
    return as_recorded(search) | {"n_best": None}
