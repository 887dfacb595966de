"""The flags --engine and --dtype of the commands that translate, and the engine that they open."""

import os
from typing import Any, NamedTuple

from t2t_keras.cli.flags.shared_flags import (
    dtype_flag,
    engine_flag,
    imports_flag,
    load_imports,
    refuse_unused,
    to_flag,
    trust_flag,
    trust_given,
    weights_flag,
)
from t2t_keras.cli.process.backend import load_backend, load_backend_of, stderr_filter
from t2t_keras.plugins import read_plugin, sha256_of

DTYPE = dtype_flag()
ENGINE = engine_flag()
IMPORTS = imports_flag()
TO = to_flag()
TRUST = trust_flag()
WEIGHTS = weights_flag()


class Opened(NamedTuple):
    """The engine that translates or scores texts.

    Args:
        engine: an engine.
        to: the default tag of texts; see `Translator`.
        identity: the engine, the type of its weights, and their digests, in JSON types.
    """

    engine: Any
    to: str | None
    identity: dict


def opened_model(folders, recorded=None, can=lambda engine: None, to=TO, method=None):
    """Returns the export, run or ensemble that --engine and --dtype select, as `Opened`.

    Args:
        folders: the positional arguments.
        recorded: the `identity` of an interrupted command that is resumed, or None. If neither
            command chose an engine, the recorded engine is used again.
        can: function of an engine that raises a `ValueError` if the engine cannot do the task.
        to: the flag for the tag of texts.
        method: see `chosen_engine`.
    """
    from t2t_keras.runs.exports.freshness import warn_if_stale
    from t2t_keras.translating.export_folders import other_export
    from t2t_keras.translating.find import is_export, load_engine

    load_imports(IMPORTS.value)
    for folder in folders:
        if what := other_export(folder):
            raise ValueError(f"{folder} is {what}")
        if os.path.isfile(folder):
            raise ValueError(
                f"takes the folder of a run or an export. Received the file {folder}. Text comes "
                "from standard input or from the file of a flag, see --help"
            )
    if any(map(is_export, folders)):
        if len(folders) > 1:
            raise ValueError(f"an export cannot join an ensemble. Received: {' '.join(folders)}")
        refuse_unused([WEIGHTS], f"with an export: t2t-export fixed the weights of {folders[0]}")
        refuse_unused([TRUST], "with an export, which executes no plug-in files")
        load_backend_of(folders[0])
        found = load_engine(folders[0], ENGINE.value, DTYPE.value)
        warn_if_stale(found.name)
        return Opened(found, to.value or found.tag, identity_of(found, found.digest()))
    trust_given(folders)
    engine, dtype, is_resumed = ENGINE.value, DTYPE.value, False
    if recorded and engine == "auto" and recorded["asked"] == [engine, dtype]:
        engine, dtype, is_resumed = recorded["engine"], recorded["dtype"], True
    found = of_export(folders, engine, dtype, is_resumed, can, method)
    if found is not None:
        return Opened(found, to.value, identity_of(found, found.digest()))
    load_backend()
    from t2t_keras.runs import load_runs

    runs = load_runs(folders, to.value)
    digests = {"weights": runs.weights_digests(WEIGHTS.value)}
    found = runs.engine(WEIGHTS.value)
    return Opened(found, to.value, identity_of(found, digests))


def of_export(folders, engine, dtype, is_resumed, can, method):
    """Returns the engine of an export inside a run, or None if TensorFlow is to be used.

    Args:
        folders, can, method: see `opened_model`.
        engine, dtype: the requested engine and type of its weights.
        is_resumed: whether they are those of an interrupted command, whose export may be gone.
    """
    from t2t_keras.runs.exports.engine_choice import NoExport, chosen_engine
    from t2t_keras.translating.engines.engine import Unsupported
    from t2t_keras.translating.engines.preferred import tell_fallback

    is_default = engine in ("auto", "tensorflow") and dtype in (None, "float32")
    must = not is_resumed and not is_default
    if len(folders) != 1:
        if must:
            raise ValueError(
                "--engine and --dtype are for one run or export: an ensemble is TensorFlow's. "
                f"Received: {' '.join(folders) or 'no run'}"
            )
        return None
    try:
        choice = chosen_engine(folders[0], engine, dtype, WEIGHTS.value, method)
    except ValueError as error:
        if not (is_resumed or isinstance(error, NoExport)) or must:
            raise
        return of_export(folders, "auto", None, False, can, method)  # the export is gone
    if choice.engine is None:
        if engine == "auto":
            choice.tell()
        return None
    stderr_filter()
    try:
        can(choice.engine)
    except ValueError as error:
        if must or not isinstance(error.__cause__, Unsupported):
            raise
        tell_fallback(error)
        return None
    return choice.engine


def identity_of(engine, digests):
    asked = [ENGINE.value, DTYPE.value]
    imports = [sha256_of(read_plugin(path)) for path in IMPORTS.value]
    facts = {"asked": asked, "engine": engine.kind, "dtype": engine.dtype, "imports": imports}
    return facts | digests
