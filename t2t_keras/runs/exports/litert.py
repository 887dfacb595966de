"""Exports of a run for LiteRT."""

from pipelines.tokenizers import save_tokenizer
from t2t_keras.checks import check
from t2t_keras.decoding.search import needs_draws
from t2t_keras.export.litert.convert import save_litert, save_portable


def write_model(prepared, folder):
    """Writes a model for `LiteRTEngine`, and returns the layout of its programs for the record.

    Args:
        prepared: the `Prepared` export.
        folder: the new folder.
    """
    run, model, config, dtype = prepared
    check(not config.constrain, "constrain", config.constrain, "left out: LiteRT knows no trees")
    allowed = "a method without random numbers, such as 'beam', in an export"
    check(not needs_draws(config), "method", config.method, allowed)
    save_tokenizer(run.tokenizer(), folder / "vocabulary")
    return {"layout": save_litert(folder, model, config.beam, dtype)}


def write_portable(prepared, folder):
    """Writes one file with the whole search, for programs without this package."""
    run, model, config, dtype = prepared
    save_tokenizer(run.tokenizer(), folder / "vocabulary")
    save_portable(folder, model, config, dtype)
