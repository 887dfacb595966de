"""Writers of exports.

The writer of a version takes a `Run`, its model, the `SearchConfig` with the n-best lists of the
export, the type of the stored weights, and the new folder. It may return further facts for the
record of the version. `exporting` adds the vocabulary.
"""

import tempfile
from pathlib import Path

from pipelines.tokenizers import graphs_of, lone_pieces
from t2t_keras.checks import check
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.export.litert.convert import save_litert, save_portable
from t2t_keras.export.saved_model import save_ids_model, save_text_model
from t2t_keras.export.text_signatures import Language
from t2t_keras.quiet_loading import quiet_loading
from t2t_keras.runs.tree_search import tree_constraint


def write_text_model(run, model, config, dtype, folder):
    trees, tokenizer = tree_constraint(run, config), run.tokenizer()
    follows = tokenizer.target.ends_phrase() if tokenizer.target.ends_word is None else None
    options = dtype, run.alignment_choice(), trees, follows
    save_text_model(folder, model, config, *graph_languages(tokenizer), *options)


def graph_languages(tokenizer):
    """Returns source and target as the `Language`s of an exported graph."""
    result = []
    with quiet_loading():
        graphs = graphs_of(tokenizer)
    for side, graph in zip((tokenizer.source, tokenizer.target), graphs, strict=True):
        pieces = [piece for piece, _ in lone_pieces(side, range(side.size))]
        leading = side.start, bool(side.begin or side.codes)
        result.append(Language(graph, pieces, side.begins_word, *leading))
    return result


def write_ids_model(run, model, config, dtype, folder):
    save_ids_model(folder, model, config, dtype, tree_constraint(run, config))


def write_litert(run, model, config, dtype, folder):
    """Writes a model for `LiteRTEngine`, and returns the layout of its programs."""
    return {"layout": save_litert(folder, model, config.beam, dtype)}


def write_portable(run, model, config, dtype, folder):
    save_portable(folder, model, config, dtype)


def write_ctranslate2(run, model, config, dtype, folder):
    check(config.method == "beam", "method", config.method, "'beam': CTranslate2 has no other")
    stopping = config.stopping
    check(stopping != "first", "stopping", stopping, "'exact' or 'patience', which CTranslate2 has")
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


def write_keras(run, path, weights=None):
    """Writes a file for `keras.saving.load_model`, which needs this package to be installed."""
    if path.suffix != ".keras":
        raise ValueError(f"--output must name a file that ends in .keras. Received: {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(".unfinished", dir=path.parent) as folder:
        unfinished = Path(folder, path.name)
        run.loaded(weights).save(unfinished)
        unfinished.rename(path)
    return path
