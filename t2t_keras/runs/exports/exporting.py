"""Exports of a run's trained model, in the formats of `FORMATS`."""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any, NamedTuple

from pipelines.atomic_files import check_links
from pipelines.tokenizers.tags import tag_before
from t2t_keras.checks import check_choice, nearest
from t2t_keras.decoding.search_config import as_recorded
from t2t_keras.export.formats import FORMATS
from t2t_keras.models import model_class
from t2t_keras.runs.exports.freshness import asked_for, code_of, is_default, records_in, stale
from t2t_keras.translating.engines.model import weights_digest
from t2t_keras.translating.exports import write_version


class Prepared(NamedTuple):
    """What a writer needs to write a version of an export.

    Args:
        run: the `Run`.
        model: its model.
        config: the `SearchConfig`, which returns the n-best lists of the export.
        dtype: type of the stored weights.
    """

    run: Any
    model: Any
    config: Any
    dtype: str


def export(run, output=None, format="saved_model", weights=None, **options):
    """Writes a run's trained model, and returns the path of the new version, folder or file.

    Args:
        run: a `Run`.
        output: parent of the numbered versions; folder or file for other formats. None: a path
            inside the run.
        format: one of `FORMATS`.
        weights: see `Run`.
        **options: `dtype`, type of the stored weights; `languages`, the `Languages` to record if
            not those of the run; `n_best`, size of the n-best lists of t2t-serve if not the beam
            width; `license`; and changes to the run's search settings, which become the defaults of
            the export, or its fixed settings.
    """
    check_choice("format", format, FORMATS)
    row = FORMATS[format]
    run.experiment()  # raises a clear error if the folder is not a run
    check_links(run.folder)
    options = {name: value for name, value in options.items() if value is not None}
    check_options(row, format, options)
    if output is None and row.place:
        output = run.folder / row.place
    output = output and Path(output)
    if not row.has_versions:
        return row.write(run, output, weights, **options)
    prepared, facts = prepare(run, format, weights, **options)
    return write_version(output, functools.partial(row.write, prepared), facts)


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
    """Returns the `Prepared` export of a run and its record; arguments as in `export`."""
    dtype = dtype or FORMATS[format].dtypes[0]
    config = run.search(**search).with_results(n_best)
    config.validate()
    model, steps, file = run.loaded_with_file(weights)
    tokenizer, choice = run.tokenizer(), run.alignment_choice()
    options = {"languages": languages, "n_best": n_best, "dtype": dtype, **search}
    facts = {
        "format": format,
        "dtype": dtype,
        "search": dataclasses.asdict(config),
        "longest": model.longest,
        "split": not run.prepared_with("leaves"),
        "languages": languages or run.languages(),
        "tags": list(run.tags()),
        "tag": tag_before(tokenizer),
        "alignment": choice and dataclasses.asdict(choice),
        "weights": {"steps": steps, "digest": weights_digest(model), "file": file},
        "settings": run.settings_digest(),
        "search_of_run": as_recorded(run.search_settings()),
        "code": code_of(model_class(run.experiment().model)),
        "asked": asked_for(run, weights, **options),
    }
    return Prepared(run, model, config, dtype), facts


def renew(run, show, at_least=()):
    """Exports a run again in each way in which it was exported before it changed.

    Args:
        run: a `Run`.
        show: called with a line about each export, or with the reason for not exporting.
        at_least: formats in which an export with the run's own search, in float32, is also written
            if there is none.

    Returns:
        {format: path of the newest export that was written}.
    """
    written = {}
    for name, row in FORMATS.items():
        records = {json.dumps(record["asked"]): record for record in records_in(run, name)}
        again = [record["asked"] for record in records.values() if stale(run, record)]
        if name in at_least and not any(map(is_default, records.values())):
            again.append({"weights": None, "to": run.to, "options": {}})
        for asked in again:
            each = run if asked["to"] == run.to else type(run)(run.folder, asked["to"])
            try:
                written[name] = each.export(None, name, asked["weights"], **asked["options"])
                show(f"{written[name]}: {row.purpose}")
            except ValueError as error:
                show(f"Not exported as a {row.purpose}: {error}")
    return written
