"""The systems that a comparison measures: each teacher and the student, in each form they can take.

A form is an engine, a type of weights and a beam width. A run is measured as exports for the
engines of CPUs; exports that the run lacks are written. An ensemble, and a run that no other engine
can compute, are measured on TensorFlow.
"""

import importlib.util
from pathlib import Path
from typing import NamedTuple

from pipelines.exit_codes import NOT_CONVERTIBLE, REFUSED
from t2t_keras.distillation.models import GivenModel
from t2t_keras.runs.exports.fitting import NoExport, fitting
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.stages.stages import StageFailed, Stages
from t2t_keras.translating.exports import engine_of, is_export, newest_in, record_of, unusable

DTYPES = ("float32", "int8")
# {engine: files with the weights in its exports}
FILES = {"litert": "*.tflite", "ctranslate2": "model.bin", "tensorflow": "variables/*"}
SHOWN = {"litert": "LiteRT", "ctranslate2": "CTranslate2", "tensorflow": "TensorFlow"}


class System(NamedTuple):
    """A teacher or the student."""

    label: str  # name for files, such as "teacher"
    name: str  # name for tables
    folders: list  # a run's folder, an export's folder, or the folders of an ensemble's runs
    to: str | None = None  # tag or target language of its translations, or None
    # whether it is a run of an ensemble, which is measured in a single form
    is_member: bool = False


class Form(NamedTuple):
    """A system as it is measured."""

    system: System
    folders: list  # the folders to translate with: an export, or the runs
    engine: str  # "litert", "ctranslate2" or "tensorflow"
    dtype: str  # type of the stored weights
    beam: int
    is_default: bool  # whether this is the system's own beam width
    bytes: int  # size of the weights

    @property
    def label(self):
        return f"{self.system.label}-{self.engine}-{self.dtype}-beam{self.beam}"

    @property
    def search(self):
        return "greedy" if self.beam == 1 else f"beam {self.beam}"


def systems_of(teachers, student, to=None):
    """Returns the `System`s of a comparison; for the arguments, see `compare`.

    The runs of an ensemble follow it, each as a separate system. The student is the last.
    """
    found = [System("teacher", "", teachers, to)]
    for number, folder in enumerate(dict.fromkeys(teachers) if len(teachers) > 1 else (), 1):
        found.append(System(f"teacher-run{number}", "", [folder], to, is_member=True))
    found.append(System("student", "", [str(student)]))
    names = [" + ".join(Path(folder).name for folder in system.folders) for system in found]
    if len(set(names)) < len(names):
        names = [" + ".join(system.folders) for system in found]
    return [system._replace(name=name) for system, name in zip(found, names, strict=True)]


def forms_of(system, folder, notes):
    """Returns the `Form`s of a system. Exports that a run lacks are written to a folder.

    The reason for a missing form is appended to `notes`.
    """
    if len(system.folders) > 1:
        return on_tensorflow(system)
    if is_export(system.folders[0]):
        return of_export(system, newest_in(system.folders[0]))
    engines = ["litert", *(["ctranslate2"] if has_ctranslate2() else [])]
    kinds, found = [(engine, dtype) for engine in engines for dtype in DTYPES], []
    for engine, dtype in kinds[:1] if system.is_member else kinds:
        try:
            export = exported(system, engine, dtype, folder)
        except StageFailed as error:
            if error.code not in (REFUSED, NOT_CONVERTIBLE):
                raise
            if not system.is_member:
                notes.append(f"{system.name} has no {SHOWN[engine]} in {dtype}: {error}")
        else:
            found += of_export(system, export)
    found = found or on_tensorflow(system)
    return [form for form in found if form.is_default or not system.is_member]


def has_ctranslate2():
    return importlib.util.find_spec("ctranslate2") is not None


def exported(system, engine, dtype, folder):
    """Returns the folder of the run's export for an engine; writes it if there is none."""
    run = RunFolder(system.folders[0])
    try:
        return fitting(run, engine, dtype)
    except NoExport:
        label = f"{system.label}-{engine}-{dtype}"
    output = folder / "exports" / label
    flags = [f"--format={engine}", f"--dtype={dtype}", f"--output={output}"]
    if system.to:
        flags.append(f"--to={system.to}")
    Stages(folder, "comparison").run_once(
        stage=f"export-{label}",
        command="export",
        arguments=[run.folder, *flags],
        creates=output,
        depends_on=GivenModel(run.folder).digest(),
        replaces=output,
    )
    return newest_in(output) or output


def of_export(system, export):
    """Returns the forms of a version of an export: its own beam width, and greedy search."""
    record, engine = record_of(export), engine_of(export)
    files = sorted(export.glob(FILES[engine]))
    if not files:
        raise unusable(export, "it is not complete")
    own, dtype = record["search"]["beam"], record["dtype"]
    size = sum(path.stat().st_size for path in files)
    return forms(system, [str(export)], engine, dtype, own, size)


def on_tensorflow(system):
    """Returns the forms of runs that TensorFlow computes."""
    from t2t_keras.parameters import parameter_counts
    from t2t_keras.runs.settings_file import read_settings

    runs = [RunFolder(folder) for folder in system.folders]
    counts = [parameter_counts(read_settings(run.config_file).model) for run in runs]
    size = 4 * sum(sum(each.values()) for each in counts)
    own = runs[0].search_settings().beam
    return forms(system, system.folders, "tensorflow", "float32", own, size)


def forms(system, folders, engine, dtype, own, size):
    return [
        Form(system, folders, engine, dtype, beam, beam == own, size)
        for beam in sorted({1, own}, reverse=True)
    ]
