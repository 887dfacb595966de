"""`open_engine`: the one way from folders of runs or exports to the engine that translates.

For a run on a CPU, this is LiteRT if the run has an export that matches its weights and settings,
otherwise TensorFlow. This module imports neither TensorFlow nor Keras, so that a command that
translates with LiteRT starts immediately.
"""

from t2t_keras.runs.exports.fitting import fastest_engine, warn_if_stale
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.translating import exports


def open_engine(
    folders,
    engine="auto",
    dtype=None,
    weights=None,
    to=None,
    trust=False,
    method=None,
    loading=lambda library: None,
):
    """Returns the engine of an export, of a run, or of several runs as an ensemble.

    Args:
        engine: one of `ENGINES`.
        dtype: type of the stored weights. None: float32 for a run, any for an export.
        weights: see `Run`; for runs only.
        to, trust: see `Run`.
        method: a search method to use besides the run's, which a plug-in file of the run may add.
        loading: called before a library is loaded: "keras" with TensorFlow, "tensorflow" alone,
            "litert" or "ctranslate2".
    """
    for folder in folders:
        if what := exports.for_other_programs(folder):
            raise ValueError(f"{folder} is {what}")
    if any(map(exports.is_export, folders)):
        if len(folders) > 1:
            raise ValueError(f"an export cannot join an ensemble. Received: {' '.join(folders)}")
        if weights is not None:
            raise ValueError(f"t2t-export fixed the weights of {folders[0]}: leave out --weights")
        loading(exports.engine_of(exports.newest_in(folders[0])))
        warn_if_stale(exports.newest_in(folders[0]))
        return exports.open_export(folders[0], engine, dtype)

    def on_tensorflow():
        loading("keras")
        return engine_of_runs(folders, to, trust, weights)

    if len(folders) == 1:
        loading("litert")
        run = RunFolder(folders[0], trust=trust)
        return fastest_engine(run, engine, dtype, weights, on_tensorflow, method)
    if engine not in ("auto", "tensorflow") or dtype not in (None, "float32"):
        raise ValueError(
            "--engine and --dtype are for one run or export: an ensemble is TensorFlow's. "
            f"Received: {' '.join(map(str, folders)) or 'no run'}"
        )
    return on_tensorflow()


def engine_of_runs(folders, to, trust, weights):
    """Returns the engine on TensorFlow of a run, or of runs that translate as an ensemble."""
    from t2t_keras.runs.run import Run

    if not folders:
        raise ValueError("takes a run's folder, or several for an ensemble. Received: none")
    first, *others = (Run(folder, to, trust) for folder in folders)
    if not others:
        return first.engine(weights)
    from t2t_keras.decoding.ensemble import Ensemble

    for run in others:
        run.experiment()  # raises a clear error if the folder is not a run
        if run.vocabulary().contents() != first.vocabulary().contents():
            raise ValueError(
                f"{run.folder} has a different vocabulary than {first.folder}. An ensemble's runs "
                "must be trained with the same vocabulary (t2t-prepare --vocabulary)"
            )
    return first.engine_with(Ensemble([run.model(weights) for run in (first, *others)]))


def with_draft(engine, folder, trust=False):
    """Returns an engine after `Engine.use_draft` of the run or export in a folder."""
    engine.check_reading()
    if exports.is_export(folder):
        draft = open_engine([folder])
    else:
        dtype = engine.dtype if engine.kind == "litert" else None
        draft = open_engine([folder], engine.kind, dtype, trust=trust)
    draft.check_reading()
    if draft.kind != engine.kind:
        raise ValueError(
            f"{folder} cannot be a draft of {engine.name}: one is computed by {draft.kind}, the "
            f"other by {engine.kind}. Give a run or export of the same kind"
        )
    if draft.tokenizer.contents() != engine.tokenizer.contents():
        raise ValueError(
            f"{folder} cannot be a draft of {engine.name}, because their vocabularies differ. A "
            "student that t2t-distill trains has its teacher's"
        )
    engine.use_draft(draft)
    return engine


def load_translator(
    *folders, weights=None, to=None, engine="auto", dtype=None, trust=False, draft=None
):
    """Returns the `Translator` of an export, of a run, or of several runs as an ensemble.

    Args:
        weights, engine, dtype: see `open_engine`.
        to, trust: see `Run`. An export executes no plug-in file.
        draft: path of a run or export with the same vocabulary, a small model that proposes tokens
            to greedy search (`beam=1`).
    """
    from t2t_keras.translating.translator import Translator

    found = open_engine([*map(str, folders)], engine, dtype, weights, to, trust)
    found = with_draft(found, str(draft), trust) if draft else found
    return Translator(found, to or found.tag)
