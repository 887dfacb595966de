"""t2t-translate --apache_beam: translates files, with an export, as an Apache Beam pipeline."""

import contextlib
import logging
import sys
from pathlib import Path

from absl import flags

from pipelines.atomic_files import locked_folder
from pipelines.progress import Progress
from pipelines.text.opened_text import find_files
from t2t_keras.cli.flags.engine_flags import TO
from t2t_keras.cli.flags.shared_flags import define_list, only_with
from t2t_keras.cli.main import will_resume
from t2t_keras.cli.text_files.output_files import check_outputs

APACHE_BEAM = flags.DEFINE_bool(
    "apache_beam",
    False,
    "Translate the files of --input to files of the same names in the folder --output as an Apache "
    "Beam pipeline; needs pip install 't2t-keras[beam]'.",
)
BEAM_OPTIONS = define_list(
    "beam_options", [], "Comma-separated pipeline options for --apache_beam, such as --runner=NAME."
)
only_with([APACHE_BEAM], BEAM_OPTIONS)


def translate_on_beam(arguments, patterns, folder, glossary, values, load_model):
    """Translates the files that `patterns` match to files in a folder, with an export.

    `values` are the values of flags that affect the output, except the flags of the model.
    """
    export = export_in(arguments)
    sources = files_to_translate(patterns, folder, glossary)
    with contextlib.ExitStack() as stack:
        if flags.FLAGS["verbosity"].value < 1:  # Beam logs everything that a machine lacks
            logging.disable(logging.ERROR)
            stack.callback(logging.disable, logging.NOTSET)
        from t2t_keras.runs import translate_on_apache_beam as on_beam

        model = load_model(arguments)
        progress = Path(folder).absolute() / on_beam.PROGRESS
        stack.enter_context(locked_folder(progress))
        will_resume()
        files = []
        with Progress("reading", len(sources), "files") as reading:
            for path in sources:
                output = progress.parent / path.name
                files.append(on_beam.TranslatedFile(path, output, model.identity | values))
                reading.to(len(files))
        complete = sum(file.is_complete for file in files)
        print(f"complete: {complete:,} of {len(files):,} files", file=sys.stderr, flush=True)
        handler = on_beam.ExportHandler(export, TO.value, model.options, model.formatted)
        on_beam.translate_with_beam(files, handler, BEAM_OPTIONS.value)


def export_in(arguments):
    """Returns the absolute path of the only export among the arguments."""
    from t2t_keras.translating.exports import is_export, newest_in

    if len(arguments) != 1 or not is_export(arguments[0]):
        raise ValueError(
            "--apache_beam takes one folder with an export. t2t-train and t2t-export leave one in "
            f"RUN/export and RUN/export_litert. Received: {' '.join(arguments) or 'none'}"
        )
    return newest_in(arguments[0]).absolute()


def files_to_translate(patterns, folder, glossary):
    """Returns the absolute paths of the input files, after checking them and the output folder."""
    if not patterns or not folder:
        raise ValueError(
            "--apache_beam needs --input='FILES' and --output=FOLDER: the files to translate, and "
            "the folder for files of the same names"
        )
    folder = Path(folder).absolute()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output must be a folder with --apache_beam. Received: {folder}")
    names = {}
    for path in map(Path.absolute, find_files("input", patterns)):
        if path.name in names:
            raise ValueError(
                f"{names[path.name]} and {path} have the same name, and so would their "
                "translations. Rename one, or translate them to different folders"
            )
        names[path.name] = path
    outputs = [folder / name for name in names]
    check_outputs(outputs, {"glossary": glossary, "input": names.values()})
    return [*names.values()]
