"""The flags --engine and --dtype of the commands that translate, and the engine that they open."""

from pathlib import Path
from typing import Any, NamedTuple

from t2t_keras.cli.flags.shared_flags import (
    dtype_flag,
    engine_flag,
    imports_flag,
    load_imports,
    refuse_unused,
    to_flag,
    trust_flag,
    weights_flag,
)
from t2t_keras.cli.process.backend import load_backend, set_log_level
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


def opened_model(folders, to=TO, method=None):
    """Returns the export, run or ensemble that --engine and --dtype select, as `Opened`.

    Args:
        folders: the positional arguments.
        to: the flag for the tag of texts.
        method: see `open_engine`.
    """
    from t2t_keras.runs.open_engine import open_engine
    from t2t_keras.translating.exports import for_other_programs, is_export

    load_imports(IMPORTS.value)
    for folder in folders:
        if Path(folder).is_file() and not for_other_programs(folder):
            raise ValueError(
                f"takes the folder of a run or an export. Received the file {folder}. Text comes "
                "from standard input or from the file of a flag, see --help"
            )
    if len(folders) == 1 and is_export(folders[0]):
        refuse_unused([WEIGHTS], f"with an export: t2t-export fixed the weights of {folders[0]}")
        refuse_unused([TRUST], "with an export, which executes no plug-in files")
    values = ENGINE.value, DTYPE.value, WEIGHTS.value, to.value, TRUST.value
    found = open_engine(folders, *values, method, prepare)
    imports = [sha256_of(read_plugin(path)) for path in IMPORTS.value]
    identity = {"engine": found.kind, "dtype": found.dtype, "imports": imports}
    return Opened(found, to.value or found.tag, identity | found.digest())


def prepare(library):
    """Loads TensorFlow and Keras, or sets the log level of another library; see `open_engine`."""
    if library in ("keras", "tensorflow"):
        load_backend(with_keras=library == "keras")
    else:
        set_log_level()
