"""t2t-translate --apache_beam: translates files, with an export, as an Apache Beam pipeline."""

import contextlib
import fnmatch
import functools
import glob
import importlib
import logging
import sys
from pathlib import Path

from absl import flags

from pipelines.atomic_files import check_links, only_one
from pipelines.progress import Progress
from pipelines.text.file_lists import as_pattern, find_files, split_list
from t2t_keras.cli.flags.list_flag import define_list
from t2t_keras.cli.flags.shared_flags import to_flag
from t2t_keras.cli.main import will_resume
from t2t_keras.cli.text_files.output_files import check_outputs, files_of
from t2t_keras.cli.text_files.translation_lines import JSON, SCORES, Style, lines_of
from t2t_keras.cli.translation_model import (
    ALIGNMENTS,
    GLOSSARY,
    load_model,
)

TO = to_flag()

APACHE_BEAM = flags.DEFINE_bool(
    "apache_beam",
    False,
    "Translate the files of --input to files of the same names in the folder --output as an Apache "
    "Beam pipeline; needs pip install 't2t-keras[beam]'.",
)
BEAM_OPTIONS = define_list(
    "beam_options",
    [],
    "Comma-separated pipeline options for --apache_beam, such as --runner=NAME.",
)


def translate_on_beam(arguments, patterns, folder, settings):
    """Translates files with an export.

    Args:
        arguments: the positional arguments of the command: the folder of an export.
        patterns: value of --input.
        folder: value of --output.
        settings: the values of the flags that the output depends on; `lines` is among them.
    """
    export = export_in(arguments)
    files = files_to_translate(arguments, patterns, folder)
    with contextlib.ExitStack() as stack:
        stack.enter_context(beam_messages_dropped())
        check_installed()
        model = load_model(arguments)
        from t2t_keras.runs.translate_on_apache_beam import ExportHandler, translate_with_beam

        progress = files[0].progress.parent
        progress.mkdir(parents=True, exist_ok=True)
        stack.enter_context(only_one(progress))
        check_links(progress)
        will_resume()
        begin(files, model.identity | settings)
        style = Style(SCORES.value, JSON.value, ALIGNMENTS.value, model.lines)
        formatted = functools.partial(lines_of, style=style)
        handler = ExportHandler(export, TO.value, model.options, formatted)
        translate_with_beam(files, handler, BEAM_OPTIONS.value)


def begin(files, command):
    """Divides the files into blocks, and prints how many are complete."""
    with Progress("reading", len(files), "files") as reading:
        for index, file in enumerate(files, 1):
            file.begin(command)
            reading.to(index)
    complete = sum(file.is_complete for file in files)
    print(f"complete: {complete:,} of {len(files):,} files", file=sys.stderr, flush=True)


def export_in(arguments):
    """Returns the absolute path of the only export among the arguments."""
    from t2t_keras.translating.exports import is_export, newest_in

    exports = [newest_in(folder) if is_export(folder) else None for folder in arguments]
    if len(exports) != 1 or exports[0] is None:
        raise ValueError(
            "--apache_beam takes one folder with an export. t2t-train and t2t-export leave one in "
            f"RUN/export and RUN/export_litert. Received: {' '.join(arguments) or 'none'}"
        )
    return exports[0].absolute()


def files_to_translate(arguments, patterns, folder):
    """Returns a `TranslatedFile` for each input file."""
    from t2t_keras.runs.translated_files import TranslatedFile

    if not patterns or not folder:
        raise ValueError(
            "--apache_beam needs --input='FILES' and --output=FOLDER: the files to translate, and "
            "the folder for files of the same names"
        )
    folder = Path(folder).absolute()
    sources = [path.absolute() for path in find_files("input", patterns)]
    check_folder(folder, patterns, sources)
    names = {}
    for path in sources:
        if path.name in names:
            raise ValueError(
                f"{names[path.name]} and {path} have the same name, so their translations would, "
                "too. Rename one, or translate them to different folders"
            )
        names[path.name] = path
    files = [TranslatedFile(path, folder / path.name) for path in sources]
    inputs = {"--input": sources, "--glossary": GLOSSARY.value}
    inputs["a file of the export"] = files_of(arguments)
    check_outputs({"--output": [file.path for file in files]}, inputs)
    return files


def check_folder(folder, patterns, sources):
    """Rejects an output folder that --input matches, or whose files --input would match later."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output must be a folder with --apache_beam. Received: {folder}")
    here = Path(glob.escape(str(Path.cwd())))
    for item in split_list(patterns):
        for path in (folder, *(folder / source.name for source in sources)):
            if matches(path, here / as_pattern(item)):
                raise ValueError(
                    f"--output={folder} is among the input files, {item}: its files would be "
                    "translated the next time. Give a different folder"
                )


def matches(path, pattern):
    """Returns whether a glob pattern, an absolute path, matches a path that need not exist."""
    return len(path.parts) == len(pattern.parts) and all(
        fnmatch.fnmatchcase(*parts) for parts in zip(path.parts, pattern.parts, strict=True)
    )


def check_installed():
    try:
        importlib.import_module("apache_beam")
    except ImportError as error:
        raise ValueError(
            f"--apache_beam needs Apache Beam ({error}): pip install 't2t-keras[beam]'"
        ) from error


@contextlib.contextmanager
def beam_messages_dropped():
    """Drops Beam's messages unless --verbosity is 1.

    Beam logs everything that a machine lacks, and the traceback of an error that the command
    reports.
    """
    if flags.FLAGS["verbosity"].value < 1:
        logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
