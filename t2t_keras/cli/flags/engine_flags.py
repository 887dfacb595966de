"""The flags --engine and --dtype, shared by the commands that translate, and what they open."""

from typing import Any, NamedTuple

from absl import flags, logging

from t2t_keras.cli.flags.shared_flags import refuse_unused, to_flag, weights_flag
from t2t_keras.cli.process.backend import load_backend, load_backend_of, stderr_filter
from t2t_keras.export.formats import CTRANSLATE2_DTYPES

TO = to_flag()
WEIGHTS = weights_flag()

ENGINES = ("auto", "litert", "tensorflow", "ctranslate2")
ENGINE = flags.DEFINE_enum(
    "engine",
    "auto",
    ENGINES,
    "What computes. auto: LiteRT on a CPU, if the run has an export for it with these weights and "
    "LiteRT can do what is asked; else TensorFlow. --verbosity=0 says why.",
)
DTYPE = flags.DEFINE_enum(
    "dtype",
    None,
    tuple(CTRANSLATE2_DTYPES),
    "Type of the weights in the export, for --engine=litert (float32, int8) and ctranslate2. "
    "Default: float32 of a run; whatever an export has.",
)


class Opened(NamedTuple):
    """The engine that translates or scores texts.

    Args:
        engine: an engine.
        to: the tag of texts that do not say it; see `Translator`.
        identity: the engine, the type of its weights, and their digests, in JSON types.
    """

    engine: Any
    to: str | None
    identity: dict


def opened_model(folders, recorded=None, can=lambda engine: None):
    """Returns what --engine and --dtype open: an export, a run, or an ensemble.

    Args:
        folders: the positional arguments.
        recorded: the `identity` of an interrupted command that is resumed, or None. If neither
            said which engine, that one is used again.
        can: function of an engine. It raises a `ValueError` if the engine cannot do what is asked.
    """
    from t2t_keras.translating.find import is_export, load_engine

    if any(map(is_export, folders)):
        if len(folders) > 1:
            raise ValueError(f"an export cannot join an ensemble. Received: {' '.join(folders)}")
        refuse_unused([WEIGHTS], f"with an export: t2t-export fixed the weights of {folders[0]}")
        load_backend_of(folders[0])
        found = load_engine(folders[0], ENGINE.value, DTYPE.value)
        return Opened(found, TO.value or found.tag, identity_of(found, found.digest()))
    engine, dtype, is_resumed = ENGINE.value, DTYPE.value, False
    if recorded and engine == "auto" and recorded["asked"] == [engine, dtype]:
        engine, dtype, is_resumed = recorded["engine"], recorded["dtype"], True
    found = of_export(folders, engine, dtype, is_resumed, can)
    if found is not None:
        return Opened(found, TO.value, identity_of(found, found.digest()))
    load_backend()
    from t2t_keras.runs import load_runs

    runs = load_runs(folders, TO.value)
    digests = {"weights": runs.weights_digests(WEIGHTS.value)}
    found = runs.engine(WEIGHTS.value)
    return Opened(found, TO.value, identity_of(found, digests))


def of_export(folders, engine, dtype, is_resumed, can):
    """Returns the engine of an export inside a run, or None if TensorFlow is to be used.

    Args:
        folders, can: see `opened_model`.
        engine, dtype: what is asked for.
        is_resumed: whether an interrupted command asked for it, whose export may be gone.
    """
    from t2t_keras.runs.exports.engine_choice import NoExport, chosen_engine
    from t2t_keras.translating.engines.engine import Unsupported

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
        choice = chosen_engine(folders[0], engine, dtype, WEIGHTS.value)
    except ValueError as error:
        if not (is_resumed or isinstance(error, NoExport)) or must:
            raise
        return of_export(folders, "auto", None, False, can)  # the interrupted one's export is gone
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
        logging.info("TensorFlow is used: %s", error)
        return None
    return choice.engine


def identity_of(engine, digests):
    asked = [ENGINE.value, DTYPE.value]
    return {"asked": asked, "engine": engine.kind, "dtype": engine.dtype} | digests
