"""t2t-translate --document: translates documents of many kinds into files of the same kind."""

import functools
import json
import sys
import time
from pathlib import Path

from absl import flags

from t2t_keras.cli.flags.shared_flags import define_list
from t2t_keras.cli.text_files.line_blocks import Input, write_blocks
from t2t_keras.cli.text_files.output_files import check_outputs

DOCUMENT = define_list(
    "document",
    [],
    "Comma-separated documents to translate, or folders of them: Word, PowerPoint, Excel, "
    "OpenDocument, EPUB, HTML, Markdown, XLIFF, TMX, PO, JSON, subtitles, CSV, text. --output is "
    "the file to write, or a folder for files of the same names.",
)
COLUMN = flags.DEFINE_string(
    "column", "", "Column of a CSV or TSV document to translate: its name or number."
)
RETRANSLATE = flags.DEFINE_bool(
    "retranslate", False, "Also translate the segments of a document that have a translation."
)
FINAL = flags.DEFINE_bool(
    "final", False, "Mark the translations in XLIFF and PO as final, not as in need of review."
)
OWN = (COLUMN, RETRANSLATE, FINAL)
# Suffixes of documents that are also texts, line by line.
LINES = {".txt", ".csv", ".tsv", ".html", ".htm", ".xhtml", ".md", ".markdown"}


def translate_documents(arguments, output, others, values, as_json, load_model):
    """Translates the documents of --document; `others` is {flag: file} of the other inputs.

    `values` are those of the flags that the output depends on besides the flags of the model.
    """
    files = files_to_translate(output)
    check_outputs([*files.values()], {"document": [*files], **others})
    from t2t_keras.translating import documents

    model = load_model(arguments)
    own = {flag.name: flag.value for flag in OWN}
    options = dict(model.options)
    read = functools.partial(
        documents.opened, translator=model.translator, to=options.get("to"), **own
    )
    for path in files:
        read(path)  # a wrong one is named before anything is translated
    for path, target in files.items():
        begin, document = time.monotonic(), read(path)
        target.parent.mkdir(parents=True, exist_ok=True)

        def finish(lines, document=document):
            return document.write([json.loads(line) for line in lines.splitlines()])

        write_blocks(
            blocks_of(document, model.translator, options, values["lines"]),
            target,
            model.identity | values | own | {"document": path.suffix},
            Input(None, len(document.units), False),
            f"translating {path.name}",
            "segments",
            finish,
        )
        facts = documents.report_of(path, target, document, time.monotonic() - begin)
        if as_json:
            print(json.dumps(facts, ensure_ascii=False), flush=True)
        for reason, count in facts["skipped"].items():
            print(f"{path}: {count:,} segments are unchanged: {reason}", file=sys.stderr)


def blocks_of(document, translator, options, size):
    """Yields the blocks of a document's units for `write_blocks`."""
    from t2t_keras.translating.documents import translated_units

    for first in range(0, max(len(document.units), 1), size):
        units = document.units[first : first + size]

        def work(on_progress, units=units):
            found = translated_units(translator, units, on_progress, **options)
            return "".join(f"{json.dumps(text)}\n" for text in found).encode()

        yield len(units), json.dumps(units).encode(), work


def files_to_translate(output):
    """Returns {document: file to write}, as `Path`s."""
    from pipelines.documents import SUFFIXES

    if not output:
        raise ValueError("--document needs --output: the file to write, or a folder")
    given, target = [Path(name) for name in DOCUMENT.value], Path(output)
    files = {}
    for path in given:
        if path.is_dir():
            found = sorted(each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES)
            if not found:
                raise ValueError(f"{path} has no document. Known are: {' '.join(SUFFIXES)}")
            files |= {each: target / each.relative_to(path) for each in found}
        else:
            is_folder = len(given) > 1 or target.is_dir() or output.endswith("/")
            files[path] = target / path.name if is_folder else target
    if len(files) > 1 and target.is_file():
        raise ValueError(f"--output must be a folder for several documents. Received: {output}")
    if len({*files.values()}) < len(files):
        raise ValueError("two documents have the same name. Translate them to different folders")
    for path, written in files.items():
        if written.suffix.lower() != path.suffix.lower():
            raise ValueError(
                f"the translation of {path} is a {path.suffix} file, too. Received: "
                f"--output={output}"
            )
    return files


def refuse_documents(path):
    """Rejects an input of lines that is a document, by its suffix."""
    from pipelines.documents import SUFFIXES

    try:
        name = Path(path or "/dev/stdin").resolve()
    except OSError:
        return
    if name.suffix.lower() in SUFFIXES.keys() - LINES:
        raise ValueError(
            f"{name.name} is a document, whose markup would be translated as text. Give "
            f"--document={path or name.name} --output=FILE{name.suffix}"
        )
