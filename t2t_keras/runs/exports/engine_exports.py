"""Exports of a run for engines on CPUs without TensorFlow: LiteRT and CTranslate2."""

import dataclasses
import tempfile
from pathlib import Path

from pipelines.atomic_files import atomic_folder, only_one
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.tags import tag_before
from t2t_keras.checks import check, check_choice
from t2t_keras.decoding.search import needs_draws
from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.export.formats import LITERT_DTYPES, LITERT_RECORD, PORTABLE_RECORD, versions_in
from t2t_keras.export.litert.convert import save_litert, save_portable
from t2t_keras.export.model_code import code_of
from t2t_keras.models import model_class
from t2t_keras.runs.exports.export_record import facts_of, remove_unfinished
from t2t_keras.runs.exports.freshness import asked_for
from t2t_keras.translating.export_record import write_record


def export_litert(
    run,
    folder=None,
    weights=None,
    dtype="float32",
    n_best=None,
    portable=False,
    languages=None,
    **search,
):
    """Writes the next version of a model for LiteRT, and returns the version's folder.

    Args:
        run: a `Run`.
        folder: parent of the numbered versions. None: `export_litert` inside the run, or
            `export_portable` with `portable`.
        weights: see `TrainedModel`.
        dtype: type of the stored weights, "float32" or "int8".
        n_best: size of the n-best lists of t2t-serve. None: the beam width.
        portable: write one file with the whole search, for use without this package.
        languages: the `Languages`, for the record. None: those of the run.
        **search: changes to the run's search settings, which become the defaults of the export.
    """
    check_choice("dtype", dtype, LITERT_DTYPES)
    config, tokenizer = run.search(**search), run.tokenizer()
    check(not config.constrain, "constrain", config.constrain, "left out: LiteRT knows no trees")
    allowed = "a method without random numbers, such as 'beam', in an export"
    check(not needs_draws(config), "method", config.method, allowed)
    options = {"n_best": n_best, "languages": languages, "portable": portable, **search}
    model, facts = loaded(run, weights, config.with_results(n_best), dtype, options)
    facts["tags"] = list(run.tags())
    folder = folder or run.folder / ("export_portable" if portable else "export_litert")
    folder.mkdir(parents=True, exist_ok=True)
    with only_one(folder):
        remove_unfinished(folder)
        version = folder / str(max(versions_in(folder), default=0) + 1)
        with atomic_folder(version) as unfinished:
            unfinished.mkdir(exist_ok=True)
            save_tokenizer(tokenizer, unfinished / "vocabulary")
            if portable:
                save_portable(unfinished, model, config.with_results(n_best), dtype)
                write_record(unfinished, facts, PORTABLE_RECORD)
            else:
                facts["layout"] = save_litert(unfinished, model, config.beam, dtype)
                write_record(unfinished, facts, LITERT_RECORD)
    return version


def export_ctranslate2(
    run,
    folder=None,
    weights=None,
    dtype="float32",
    force=False,
    n_best=None,
    languages=None,
    **search,
):
    """Writes a folder for CTranslate2 that includes the sub-word model.

    Args:
        run: a `Run`.
        folder: output folder. None: `export_ctranslate2` inside the run.
        weights: see `TrainedModel`.
        dtype: type of the stored weights.
        force: replace an existing CTranslate2 folder.
        n_best: size of the n-best lists of t2t-serve. None: the beam width.
        languages: see `export_litert`.
        **search: changes to the run's search settings, which become the defaults of the export.
    """
    tokenizer, config = run.tokenizer(), run.search(**search)
    check(config.method == "beam", "method", config.method, "'beam': CTranslate2 has no other")
    if tokenizer.source.start:
        raise ValueError(
            f"{run.folder} puts a tag before each source, which CTranslate2 folders cannot. Export "
            "a SavedModel"
        )
    options = {"n_best": n_best, "languages": languages, "force": True, **search}
    model, facts = loaded(run, weights, config.with_results(n_best), dtype, options)
    folder = folder or run.folder / "export_ctranslate2"
    with tempfile.TemporaryDirectory() as temporary:
        save_ctranslate2(
            model,
            tokenizer.target.pieces(range(tokenizer.target.size)),
            folder,
            quantization=dtype,
            source_pieces=tokenizer.source.pieces(range(tokenizer.source.size)),
            source_begin=tokenizer.source.begin,
            files=vocabulary_files(tokenizer, Path(temporary)),
            force=force,
            alignment=run.alignment_choice(),
            finish=lambda done: write_record(done, facts),
        )
    return folder


def loaded(run, weights, config, dtype, options):
    """Returns the model of a run and the record of its export.

    Args:
        run: a `Run`.
        weights: see `TrainedModel`.
        config: the `SearchConfig`.
        dtype: type of the stored weights.
        options: further arguments of the export, among them `languages`.
    """
    config.validate()
    model, steps, file = run.loaded_with_file(weights)
    facts = facts_of(model, steps, dtype=dtype, search=config, longest=model.longest)
    facts["weights"]["file"], facts["settings"] = file, run.settings_digest()
    facts["asked"] = asked_for(run, weights, dtype, **options)
    facts["search_of_run"] = as_recorded(run.search_settings())
    facts["code"] = code_of(model_class(run.experiment().model))
    facts["split"] = not run.prepared_with("leaves")
    facts["languages"] = options["languages"] or run.languages()
    choice = run.alignment_choice()
    facts["alignment"] = choice and dataclasses.asdict(choice)
    if (tag := tag_before(run.tokenizer())) is not None:
        facts["tag"] = tag
    return model, facts


def vocabulary_files(tokenizer, folder):
    """Writes the files of a vocabulary to a folder without subfolders, and returns their paths.

    The file names of separate vocabularies begin with "source." and "target.".
    """
    save_tokenizer(tokenizer, folder / "vocabulary")
    paths = sorted(path for path in (folder / "vocabulary").rglob("*") if path.is_file())
    names = [path.relative_to(folder / "vocabulary").as_posix() for path in paths]
    return [
        path.rename(folder / name.replace("/", "."))
        for path, name in zip(paths, names, strict=True)
    ]
