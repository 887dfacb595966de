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
    read_json,
    write_json,
)
from pipelines.tokenizers import graphs_of, save_tokenizer
from pipelines.tokenizers.tags import tag_before
from t2t_keras.checks import check_choice
from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.formats import versions_in
from t2t_keras.export.loading import write_manifest
from t2t_keras.export.saved_model import save_ids_model, save_text_model
from t2t_keras.export.text_signatures import Language
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.exports.argos_package import export_argos
from t2t_keras.runs.exports.engine_exports import export_ctranslate2, export_litert
from t2t_keras.runs.exports.export_record import facts_of, remove_unfinished
from t2t_keras.runs.exports.hub_folder import export_hub
from t2t_keras.runs.tree_search import tree_constraint
from t2t_keras.translating.export_folders import EXPORT_AGAIN, is_saved_model
from t2t_keras.translating.export_record import RECORD

# Entries of the record of an export that depend neither on the weights nor on the search.
BESIDE_WEIGHTS = ("tag", "split", "longest")


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
    config = run.search(**search)
    config = config.with_results(n_best)
    config.validate()
    trees = tree_constraint(run, config)
    (model, steps), tokenizer = run.loaded_with_steps(weights), run.tokenizer()
    folder = folder or run.folder / ("export_ids" if ids_only else "export")
    folder.mkdir(parents=True, exist_ok=True)
    facts = facts_of(model, steps, dtype=dtype, search=config)
    facts["split"], facts["longest"] = not run.prepared_with("leaves"), model.longest
    if (tag := tag_before(tokenizer)) is not None:
        facts["tag"] = tag
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


def is_exported(run):
    """Returns whether RUN/export has an export of the run's default weights and search settings.

    An export for any tag counts. An export by an older version of this package does not name its
    weights. It counts if the averaged weights are also from an older version.
    """
    search = run.search()
    config = search.with_results(None)
    expected = facts_of(*run.loaded_with_steps(), dtype="float32", search=config)
    accepted = [expected]
    if run.averaged.record()["made_by"] is None:
        accepted.append({name: expected[name] for name in ("dtype", "search")})
    return any(
        record_of(path) in accepted
        for path in versions_in(run.folder / "export").values()
        if is_saved_model(path)
    )


def record_of(version):
    """Returns the record of an export, with defaults for settings that it does not contain.

    Facts that do not depend on the weights are left out.
    """
    record = read_json(version / "config.json", {}, EXPORT_AGAIN).get("export")
    if isinstance(record, dict) and isinstance(record.get("search"), dict):
        record = {name: value for name, value in record.items() if name not in BESIDE_WEIGHTS}
        record = {**record, "search": as_recorded(record["search"])}
    return record


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
