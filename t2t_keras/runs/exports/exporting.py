"""Exports of a run's trained model, in the formats of `FORMATS`."""

import dataclasses
from pathlib import Path

from pipelines.tokenizers import save_tokenizer
from t2t_keras.checks import check, check_choice, nearest
from t2t_keras.decoding.search import needs_draws
from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.formats import FORMATS
from t2t_keras.runs.exports.fitting import NoExport, fitting, stale
from t2t_keras.translating.engines.model import weights_digest
from t2t_keras.translating.exports import record_of, versions_in, write_version


def export(run, output=None, format="saved_model", weights=None, **options):
    """Writes a run's trained model, and returns the path of the new version, folder or file.

    Args:
        output: parent of the numbered versions; folder or file for other formats. None: a path
            inside the run.
        **options: `dtype`, type of the stored weights; `languages`, the `Languages` to record if
            not the run's; `n_best`, size of the n-best lists of t2t-serve if not the beam
            width; `license`; and changes to the run's search settings, which become the defaults of
            the export, or its fixed settings.
    """
    check_choice("format", format, FORMATS)
    row = FORMATS[format]
    run.experiment()  # raises a clear error if the folder is not a run
    options = {name: value for name, value in options.items() if value is not None}
    check_options(row, format, options)
    if output is None and row.place:
        output = run.folder / row.place
    output = output and Path(output)
    if not row.has_versions:
        return row.write(run, output, weights, **options)
    prepared, facts = prepare(run, format, weights, **options)

    def write(folder):
        further = row.write(*prepared, folder)
        save_tokenizer(run.tokenizer(), folder / "vocabulary")
        return further

    return write_version(output, write, facts)


def check_options(row, format, options):
    """Rejects options that a format does not have."""
    allowed = (*(["dtype"] if row.dtypes else []), *row.options)
    for name in options:
        if name not in allowed:
            raise ValueError(
                f"format={format!r} has no option {name!r}{nearest(name, allowed)}. It has: "
                f"{', '.join(allowed)}"
            )
    if "dtype" in options:
        check_choice("dtype", options["dtype"], row.dtypes)


def prepare(run, format, weights=None, dtype=None, languages=None, n_best=None, **search):
    """Returns the first arguments of a writer and the export's record; arguments as in `export`."""
    dtype = dtype or FORMATS[format].dtypes[0]
    config = run.search(**search)
    config = config.changed(n_best=n_best or config.beam)
    config.validate()
    allowed = "a method without random numbers, such as 'beam': an export cannot sample"
    check(not needs_draws(config), "method", config.method, allowed)
    allows_trees = not config.constrain or format not in ("litert", "portable")
    check(allows_trees, "constrain", config.constrain, "left out: LiteRT knows no trees")
    model, steps, file = run.loaded_with_file(weights)
    tokenizer, choice = run.tokenizer(), run.alignment_choice()
    options = {"languages": languages, "n_best": n_best, "dtype": dtype, **search}
    facts = {
        "format": format,
        "dtype": dtype,
        "search": dataclasses.asdict(config),
        "longest": model.longest,
        "split": run.splits_texts(),
        "languages": languages or run.languages(),
        "tags": list(run.tags()),
        "tag": getattr(tokenizer, "tag", None),
        "alignment": choice and dataclasses.asdict(choice),
        "weights": {"steps": steps, "digest": weights_digest(model), "file": file},
        "settings": run.settings_digest(),
        "search_of_run": as_recorded(run.search_settings()),
        "asked": {
            "weights": weights,
            "to": run.to,
            "options": {name: value for name, value in options.items() if value is not None},
        },
    }
    return (run, model, config, dtype), facts


def renew(run, show, at_least=()):
    """Exports a run again in each way in which it was exported before it changed.

    Returns {format: path of the newest export that was written}.

    Args:
        show: called with a line about each export, or with the reason for not exporting.
        at_least: formats in which an export with the run's own search, in float32, is also written
            if there is none.
    """
    written = {}

    def write(name, weights=None, to=run.to, options=None):
        tagged = run if to == run.to else type(run)(run.folder, to)
        try:
            written[name] = tagged.export(None, name, weights, **options or {})
            show(f"{written[name]}: {FORMATS[name].purpose}")
        except ValueError as error:
            show(f"Not exported as a {FORMATS[name].purpose}: {error}")

    for name in FORMATS:
        for record in {str(each["asked"]): each for each in records_in(run, name)}.values():
            if stale(run, record):
                write(name, **record["asked"])
        if name in at_least:
            try:
                fitting(run, name, "float32")
            except NoExport:
                write(name)
    return written


def records_in(run, format):
    """Returns the records of a run's own exports in a format, oldest first.

    Damaged ones are left out: they are reported when they are used.
    """
    row = FORMATS[format]
    versions = versions_in(run.folder / row.place) if row.has_versions else {}
    records = [record_of(version) for _, version in sorted(versions.items())]
    return [record for record in records if "asked" in record]
