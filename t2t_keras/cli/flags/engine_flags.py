"""The flags --engine and --dtype of the commands that translate, and the engine that they open."""

from pathlib import Path

from t2t_keras.cli.flags.shared_flags import load_imports, refuse_unused, shared_flags
from t2t_keras.cli.process.backend import load_backend, set_log_level
from t2t_keras.plugins import read_plugin

DTYPE, ENGINE, IMPORTS, TO, TRUST, WEIGHTS = shared_flags(
    "dtype", "engine", "imports", "to", "trust", "weights"
)
OF_MODEL = (TO, WEIGHTS, ENGINE, DTYPE, TRUST)


def opened_model(folders, to=TO, method=None):
    """Opens the export, run or ensemble in the folders, as --engine and --dtype select.

    Returns its `Translator`, and all that its results depend on, in JSON types. `to` is the flag
    for the tag of texts; for `method`, see `open_engine`.
    """
    from t2t_keras.runs.open_engine import open_engine
    from t2t_keras.translating.exports import for_other_programs, is_export
    from t2t_keras.translating.translator import Translator

    load_imports(IMPORTS.value)
    for folder in folders:
        if Path(folder).is_file() and not for_other_programs(folder):
            raise ValueError(
                f"takes the folder of a run or an export. Received the file {folder}. Text comes "
                "from standard input or from the file of a flag, see --help"
            )
    if len(folders) == 1 and is_export(folders[0]):
        refuse_unused([TRUST], "with an export, which executes no plug-in files")
    values = ENGINE.value, DTYPE.value, WEIGHTS.value, to.value, TRUST.value
    engine = open_engine(folders, *values, method, prepare)
    imports = [read_plugin(path).sha256 for path in IMPORTS.value]
    identity = {"engine": engine.kind, "dtype": engine.dtype, "imports": imports}
    tag = to.value or engine.tag
    return Translator(engine, tag), identity | engine.digest() | {"to": tag}


def prepare(library):
    """Loads TensorFlow and Keras, or sets the log level of another library; see `open_engine`."""
    if library in ("keras", "tensorflow"):
        load_backend(with_keras=library == "keras")
    else:
        set_log_level()
