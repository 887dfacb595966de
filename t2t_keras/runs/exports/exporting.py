"""Exports of a run's trained model, in the formats of `EXPORTS`."""

import json
import shutil
import zipfile
from pathlib import Path

from pipelines.atomic_files import (
    atomic_file,
    atomic_folder,
    check_links,
    only_one,
    write_json,
)
from pipelines.tokenizers import graphs_of, save_tokenizer
from t2t_keras.checks import check_choice
from t2t_keras.export.formats import versions_in
from t2t_keras.export.loading import write_manifest
from t2t_keras.export.saved_model import save_ids_model, save_text_model
from t2t_keras.export.text_signatures import Language
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.exports.argos_package import export_argos
from t2t_keras.runs.exports.engine_exports import export_ctranslate2, export_litert, loaded
from t2t_keras.runs.exports.export_record import facts_of, remove_unfinished
from t2t_keras.runs.exports.freshness import PLACES, is_default, records_in, stale
from t2t_keras.runs.exports.hub_folder import export_hub
from t2t_keras.runs.tree_search import tree_constraint
from t2t_keras.translating.export_record import RECORD


def export(run, folder=None, format="saved_model", weights=None, **options):
    """Writes a run's trained model in one of the `EXPORTS` formats, and returns the path.

    Args:
        run: a `Run`.
        folder: output folder, or output file for "keras" and "argos". None: a path inside the run.
        format: one of `EXPORTS`.
        weights: see `TrainedModel`.
        **options: passed to the function for the format.
    """
    check_choice("format", format, EXPORTS)
    run.experiment()  # raises a clear error if the folder is not a run
    check_links(run.folder)
    return EXPORTS[format](run, folder and Path(folder), weights, **options)


def export_saved_model(
    run,
    folder=None,
    weights=None,
    dtype="float32",
    ids_only=False,
    n_best=None,
    languages=None,
    **search,
):
    """Writes the next version of a SavedModel, and returns the version's folder.

    Args:
        run: a `Run`.
        folder: parent of the numbered versions. None: `export` inside the run, or `export_ids`
            with `ids_only`.
        weights: see `TrainedModel`.
        dtype: type of the stored weights.
        ids_only: write a model that takes and returns ids instead of text.
        n_best: size of the n-best lists. None: the beam width.
        languages: the `Languages`, for the record. None: those of the run.
        **search: changes to the run's search settings.
    """
    config = run.search(**search).with_results(n_best)
    tokenizer, trees = run.tokenizer(), tree_constraint(run, config)
    options = {"n_best": n_best, "languages": languages, "ids_only": ids_only, **search}
    model, facts = loaded(run, weights, config, dtype, options)
    folder = folder or run.folder / ("export_ids" if ids_only else "export")
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        remove_unfinished(folder)
        version = folder / str(max(versions_in(folder), default=0) + 1)
        with atomic_folder(version) as unfinished:
            if ids_only:
                save_ids_model(unfinished, model, config, dtype, trees)
            else:
                target = tokenizer.target
                follows = target.ends_phrase() if target.ends_word is None else None
                options = dtype, run.alignment_choice(), trees, follows
                save_text_model(unfinished, model, config, *graph_languages(tokenizer), *options)
            save_tokenizer(tokenizer, unfinished / "vocabulary")
            settings = read_config(run.config_file)
            if languages:
                settings["languages"] = list(languages)
            write_json(unfinished / "config.json", settings | {"export": facts})
            write_manifest(unfinished)
    return version


def graph_languages(tokenizer):
    """Returns source and target as the `Language`s of an exported graph."""
    result = []
    sides = tokenizer.source, tokenizer.target
    for side, graph in zip(sides, graphs_of(tokenizer), strict=True):
        pieces = enumerate(side.pieces(range(side.size)))
        marks = side.marks
        pieces = [marks.get(id, piece) for id, piece in pieces]
        leading = side.start, bool(side.begin or side.codes)
        result.append(Language(graph, pieces, side.begins_word, *leading))
    return result


def export_keras(run, path=None, weights=None):
    """Writes one file for `keras.saving.load_model`, which needs this package to be installed."""
    path = path or run.folder / "model.keras"
    if path.suffix != ".keras":
        raise ValueError(f"--output must name a file that ends in .keras. Received: {path}")
    model, steps = run.loaded_with_steps(weights)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.stem}.unfinished.keras")
    with atomic_file(path) as output:  # at most one process writes it
        try:
            model.save(unfinished)
            with zipfile.ZipFile(unfinished, "a") as file:
                file.writestr(RECORD, json.dumps(facts_of(model, steps)))
            with open(unfinished, "rb") as file:
                shutil.copyfileobj(file, output)
        finally:
            unfinished.unlink(missing_ok=True)
    return path


EXPORTS = {
    "saved_model": export_saved_model,
    "litert": export_litert,
    "ctranslate2": export_ctranslate2,
    "keras": export_keras,
    "argos": export_argos,
    "hub": export_hub,
}


def renew(run, show, at_least=()):
    """Exports a run again in each way in which it was exported before it changed.

    Args:
        run: a `Run`.
        show: called with a line about each export, or with the reason for not exporting.
        at_least: names in `PLACES`, where an export with the run's own search, in float32, is also
            written if there is none.

    Returns:
        {name in `PLACES`: path of the newest export that was written}.
    """
    written = {}
    for name, place in PLACES.items():
        records = {json.dumps(record["asked"]): record for record in records_in(run, name)}
        again = [record["asked"] for record in records.values() if stale(run, record)]
        if name in at_least and not any(map(is_default, records.values())):
            again.append({"weights": None, "to": run.to, "options": {}})
        for asked in again:
            each = run if asked["to"] == run.to else type(run)(run.folder, asked["to"])
            try:
                options = {"format": place.format, "weights": asked["weights"], **asked["options"]}
                written[name] = each.export(**options)
                show(f"{written[name]}: {place.purpose}")
            except ValueError as error:
                show(f"Not exported as a {place.purpose}: {error}")
    return written
