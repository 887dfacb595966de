"""A LiteRT export of a run that records any pair of languages."""

from pipelines.atomic_files import read_json, write_json
from t2t_keras.translating.exports import RECORD


def export_pair(run, folder, source, target):
    """Writes an export and returns the argument of t2t-serve that names it after its languages."""
    export = folder / f"{source}-{target}"
    run.export(export, "litert", extra_length=5)
    record = export / "1" / RECORD
    write_json(record, read_json(record) | {"languages": [source, target]})
    return f"{export.name}={export}"
