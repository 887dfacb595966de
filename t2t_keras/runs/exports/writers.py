"""Writers of the versions of exports. Each takes a `Prepared` export and the new folder.

A writer may return further facts for the record of the version.
"""

from pipelines.tokenizers import graphs_of, save_tokenizer
from t2t_keras.checks import check
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.export.litert.convert import save_litert, save_portable
from t2t_keras.export.saved_model import save_ids_model, save_text_model
from t2t_keras.export.text_signatures import Language
from t2t_keras.quiet_loading import quiet_loading
from t2t_keras.runs.tree_search import tree_constraint


def write_text_model(prepared, folder):
    """Writes a SavedModel that takes and returns text."""
    run, model, config, dtype = prepared
    trees, tokenizer = tree_constraint(run, config), run.tokenizer()
    follows = tokenizer.target.ends_phrase() if tokenizer.target.ends_word is None else None
    options = dtype, run.alignment_choice(), trees, follows
    save_text_model(folder, model, config, *graph_languages(tokenizer), *options)
    save_tokenizer(tokenizer, folder / "vocabulary")


def graph_languages(tokenizer):
    """Returns source and target as the `Language`s of an exported graph."""
    result = []
    with quiet_loading():
        graphs = graphs_of(tokenizer)
    for side, graph in zip((tokenizer.source, tokenizer.target), graphs, strict=True):
        pieces = enumerate(side.pieces(range(side.size)))
        pieces = [side.marks.get(id, piece) for id, piece in pieces]
        leading = side.start, bool(side.begin or side.codes)
        result.append(Language(graph, pieces, side.begins_word, *leading))
    return result


def write_ids_model(prepared, folder):
    """Writes a SavedModel that takes and returns ids."""
    run, model, config, dtype = prepared
    save_ids_model(folder, model, config, dtype, tree_constraint(run, config))
    save_tokenizer(run.tokenizer(), folder / "vocabulary")


def write_litert(prepared, folder):
    """Writes a model for `LiteRTEngine`, and returns the layout of its programs."""
    run, model, config, dtype = prepared
    save_tokenizer(run.tokenizer(), folder / "vocabulary")
    return {"layout": save_litert(folder, model, config.beam, dtype)}


def write_portable(prepared, folder):
    """Writes one file with the whole search, for programs without this package."""
    run, model, config, dtype = prepared
    save_tokenizer(run.tokenizer(), folder / "vocabulary")
    save_portable(folder, model, config, dtype)


def write_ctranslate2(prepared, folder):
    """Writes a model for CTranslate2."""
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
