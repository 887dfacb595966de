"""Exports of a run for CTranslate2."""

from pipelines.tokenizers import save_tokenizer
from t2t_keras.checks import check
from t2t_keras.export.ctranslate2 import save_ctranslate2


def write_model(prepared, folder):
    """Writes a model of CTranslate2 and the vocabulary.

    Args:
        prepared: the `Prepared` export.
        folder: the new folder.
    """
    run, model, config, dtype = prepared
    check(config.method == "beam", "method", config.method, "'beam': CTranslate2 has no other")
    tokenizer = run.tokenizer()
    source, target = tokenizer.source, tokenizer.target
    if source.start:
        raise ValueError(
            f"{run.folder} puts a tag before each source, which CTranslate2 folders cannot. Export "
            "a SavedModel"
        )
    save_ctranslate2(
        model,
        target.pieces(range(target.size)),
        folder,
        quantization=dtype,
        source_pieces=source.pieces(range(source.size)),
        source_begin=source.begin,
        alignment=run.alignment_choice(),
    )
    save_tokenizer(tokenizer, folder / "vocabulary")
