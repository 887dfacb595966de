"""t2t-translate --document: translates documents of many kinds into files of the same kind."""

import functools
import json
import os
import sys
import time
from pathlib import Path

from pipelines.documents import SUFFIXES, Options
from t2t_keras.cli.flags.field_flags import define_flags
from t2t_keras.cli.flags.shared_flags import define_list, only_with
from t2t_keras.cli.text_files.line_blocks import Input, write_blocks
from t2t_keras.cli.text_files.output_files import check_outputs

DOCUMENT = define_list(
    "document",
    [],
    "Comma-separated documents to translate, or folders of them: Word, PowerPoint, Excel, "
    "OpenDocument, EPUB, HTML, Markdown, XLIFF, TMX, PO, JSON, subtitles, CSV, text. --output is "
    "the file to write, or a folder for files of the same names.",
)
OWN = define_flags(Options, leave_out=("source", "target"))
only_with([DOCUMENT], *OWN.values())
# Suffixes of documents that are also texts, line by line.
LINES = {".txt", ".csv", ".tsv", ".html", ".htm", ".xhtml", ".md", ".markdown"}


def translate_documents(arguments, output, others, values, as_json, load_model):
    """Translates the documents of --document; `others` is {flag: file} of the other inputs.

    `values` are the values of flags that affect the output, except the flags of the model.
    """
    files = files_to_translate(output)
    check_outputs([*files.values()], {"document": [*files], **others})
    from t2t_keras.translating.documents import opened, report_of, requests_of

    model = load_model(arguments)
    own = {name: flag.value for name, flag in OWN.items() if flag.value is not None}
    read = functools.partial(opened, model.translator, **model.options, **own)
    for path in files:
        read(path)  # a wrong one is named before anything is translated
    for path, target in files.items():
        begin, (document, options) = time.monotonic(), read(path)

        def translated(part, on_progress, options=options):
            found = model.translator.translate(requests_of(part), on_progress, **options)
            return "".join(f"{json.dumps(text)}\n" for text in found).encode()

        target.parent.mkdir(parents=True, exist_ok=True)
        units, size = document.units, values["lines"]
        parts = [units[first : first + size] for first in range(0, len(units), size)]
        write_blocks(
            ((len(p), json.dumps(p).encode(), functools.partial(translated, p)) for p in parts),
            target,
            model.identity | values | own | {"document": path.suffix},
            Input(None, len(units), False),
            f"translating {path.name}",
            "segments",
            lambda lines, write=document.write: write(list(map(json.loads, lines.splitlines()))),
        )
        facts = report_of(path, target, document, time.monotonic() - begin)
        if as_json:
            print(json.dumps(facts, ensure_ascii=False), flush=True)
        for reason, count in facts["skipped"].items():
            print(f"{path}: {count:,} segments are unchanged: {reason}", file=sys.stderr)


def files_to_translate(output):
    """Returns {document: file to write}, as `Path`s."""
    if not output:
        raise ValueError("--document needs --output: the file to write, or a folder")
    given, target, files = [Path(name) for name in DOCUMENT.value], Path(output), {}
    is_folder = len(given) > 1 or target.is_dir() or output.endswith("/")
    for path in given:
        found = sorted(each for each in path.rglob("*") if each.suffix.lower() in SUFFIXES)
        if not path.is_dir():
            files[path] = target / path.name if is_folder else target
        elif not found:
            raise ValueError(f"{path} has no document. Known are: {' '.join(SUFFIXES)}")
        files |= {each: target / each.relative_to(path) for each in found}
    if len(files) > 1 and target.is_file():
        raise ValueError(f"--output must be a folder for several documents. Received: {output}")
    if len({*files.values()}) < len(files):
        raise ValueError("two documents have the same name. Translate them to different folders")
    for path, written in files.items():
        if written.suffix.lower() != path.suffix.lower():
            raise ValueError(f"the translation of {path} is a {path.suffix} file, not {written}")
    return files


def refuse_documents(path):
    """Rejects an input of lines that is a document, by its suffix."""
    name = Path(os.path.realpath(path or "/dev/stdin"))
    if name.suffix.lower() in SUFFIXES.keys() - LINES:
        raise ValueError(
            f"{name.name} is a document, whose markup would be translated as text. Give "
            f"--document={path or name.name} --output=FILE{name.suffix}"
        )
