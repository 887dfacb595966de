"""Exports of a run as SavedModels."""

from pipelines.tokenizers import graphs_of, save_tokenizer
from t2t_keras.export.saved_model import save_ids_model, save_text_model
from t2t_keras.export.text_signatures import Language
from t2t_keras.quiet_loading import quiet_loading
from t2t_keras.runs.tree_search import tree_constraint


def write_text_model(prepared, folder):
    """Writes a SavedModel that takes and returns text.

    Args:
        prepared: the `Prepared` export.
        folder: the new folder.
    """
    run, model, config, dtype = prepared
    trees, tokenizer = tree_constraint(run, config), run.tokenizer()
    follows = tokenizer.target.ends_phrase() if tokenizer.target.ends_word is None else None
    options = dtype, run.alignment_choice(), trees, follows
    save_text_model(folder, model, config, *graph_languages(tokenizer), *options)
    save_tokenizer(tokenizer, folder / "vocabulary")


def write_ids_model(prepared, folder):
    """Writes a SavedModel that takes and returns ids; see `write_text_model`."""
    run, model, config, dtype = prepared
    save_ids_model(folder, model, config, dtype, tree_constraint(run, config))
    save_tokenizer(run.tokenizer(), folder / "vocabulary")


def graph_languages(tokenizer):
    """Returns source and target as the `Language`s of an exported graph."""
    result = []
    sides = tokenizer.source, tokenizer.target
    with quiet_loading():
        graphs = graphs_of(tokenizer)
    for side, graph in zip(sides, graphs, strict=True):
        pieces = enumerate(side.pieces(range(side.size)))
        marks = side.marks
        pieces = [marks.get(id, piece) for id, piece in pieces]
        leading = side.start, bool(side.begin or side.codes)
        result.append(Language(graph, pieces, side.begins_word, *leading))
    return result
