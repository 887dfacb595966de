"""Translates documents; their kinds are in `pipelines/documents`."""

import time
from pathlib import Path

from pipelines.atomic_files import atomic_file
from pipelines.documents import SUFFIXES as SUFFIXES
from pipelines.documents import DocumentError as DocumentError
from pipelines.documents import Options, read_document
from t2t_keras.translating.languages import code_of
from t2t_keras.translating.request import Request


def opened(translator, path, column="", retranslate=False, final=False, **options):
    """Returns the `Document` in a file, and the options of its texts; all see `Options`."""
    source, target = translator.engine.languages() or ("", "")
    if to := options.get("to"):
        target = code_of(to.strip("<>").removeprefix("2"))
    own = Options(source, target, column, retranslate, final)
    return read_document(Path(path), Path(path).read_bytes(), own), options


def requests_of(units):
    return [Request(unit.text, markup=unit.markup) for unit in units]


def translate_document(translator, path, output, on_progress=lambda count: None, **options):
    """Translates a document; see `Translator.translate_document`."""
    begin = time.monotonic()
    document, options = opened(translator, path, **options)
    translations = translator.translate(requests_of(document.units), on_progress, **options)
    with atomic_file(output) as file:
        file.write(document.write(translations))
    return report_of(path, output, document, time.monotonic() - begin)


def report_of(path, output, document, seconds):
    """Returns the facts about a translated document, in JSON types."""
    return {
        "document": str(path),
        "output": str(output),
        "segments": len(document.units),
        "words": sum(len(unit.text.split()) for unit in document.units),
        "skipped": +document.skipped,  # without reasons that do not occur
        "seconds": round(seconds, 2),
    }
