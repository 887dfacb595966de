"""Finds the models that t2t-serve serves, and their versions, in runs or folders, for an engine."""

import contextlib
import functools
import re
from pathlib import Path

from absl import logging

from t2t_keras.export.formats import FORMATS
from t2t_keras.runs.exports import fitting
from t2t_keras.runs.open_engine import with_draft
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.serving.versions import ModelSource
from t2t_keras.translating import exports
from t2t_keras.translating.languages import languages_in_name, languages_of


def find_models(arguments, name=None, engine="auto", dtype=None, glossaries=(), draft=None):
    """Returns the `ModelSource` of each argument, RUN or NAME=RUN, given the values of flags."""
    if not arguments:
        raise ValueError("takes the folders of runs, RUN or NAME=RUN. Received: none")
    named = [split_name(argument) for argument in arguments]
    if name is not None and (len(named) > 1 or named[0][0]):
        raise ValueError(
            f"--name={name} names a single model without a name. Name each model as NAME=RUN. "
            f"Received: {' '.join(arguments)}"
        )
    models = []
    for given, folder in named:
        find, load = find_versions(folder, engine, dtype)
        load = functools.partial(load_with_draft, load, draft) if draft else load
        model = name or given or run_name(folder)
        models.append(ModelSource(model, find, load, languages_for(folder, model, find())))
    names = [model.name for model in models]
    check_names(names)
    paths = glossary_paths(glossaries, names)
    return [model._replace(glossary=paths.get(model.name)) for model in models]


def load_with_draft(load, draft, version):
    engine = with_draft(load(version), draft)
    if engine.config.beam > 1:
        text = "%s: the draft is used only for requests with beam=1. The default is beam=%d"
        logging.warning(text, engine.name, engine.config.beam)
    return engine


def split_name(argument):
    """Returns the name, or None, and the folder in an argument RUN or NAME=RUN."""
    name, separator, folder = argument.partition("=")
    if not separator or "/" in name or Path(argument).exists():
        return None, argument
    if not (name and folder):
        raise ValueError(f"NAME=RUN must have a name and a folder. Received: {argument!r}")
    return name, folder


def glossary_paths(given, names):
    """Returns {name of a model: path of its glossary}, given the values of --glossary."""
    paths = {}
    for value in given:
        name, path = split_name(value)
        if name is None and len(names) == 1:
            (name,) = names
        if name not in names or name in paths:
            raise ValueError(
                "--glossary must name one file for a model: FILE, or with several models NAME=FILE "
                f"with NAME among {', '.join(names)}. Received: {','.join(given)}"
            )
        if not Path(path).is_file():
            raise ValueError(f"--glossary: there is no file {path}")
        paths[name] = Path(path)
    return paths


def check_names(names):
    for name in names:
        if not re.fullmatch(r"[^/:\x00-\x1f]+", name):
            wrong = f"the name of a model must not contain /, : or control characters: {name!r}"
            raise ValueError(f"{wrong}. --name=NAME and NAME=RUN set it")
        if names.count(name) > 1:
            raise ValueError(
                f"each model must have its own name. Received: {name!r} {names.count(name)} times. "
                "NAME=RUN names a model"
            )


def languages_for(folder, name, versions):
    """Returns the `Languages` of versions that do not record theirs: the run's, or the name's."""
    recorded, named = None, languages_in_name(name)
    with contextlib.suppress(OSError, ValueError):  # a damaged version is reported when loaded
        recorded = languages_of(versions[max(versions)])
    recorded = recorded or languages_of(Path(folder))
    if recorded and named and named != recorded and name.count("-") == 1:
        raise ValueError(
            f"the model named {name} translates {recorded.source} to {recorded.target}, as "
            f"{folder} records. Give it a different name"
        )
    return recorded or named


def find_versions(folder, engine="auto", dtype=None):
    """Returns `find` and `load` of the `ModelSource` of a run or an export."""
    place, run = Path(folder), RunFolder(folder)
    if not place.is_dir():
        raise ValueError(f"there is no folder {folder}")
    kind = engine
    if run.config_file.exists() and not exports.newest_in(folder):
        kind, must = fitting.requested(engine, dtype)
        if kind == "litert" and (must or not fitting.has_gpu()):
            try:
                find = functools.partial(fitting.fitting_versions, run, kind, dtype or "float32")
                find()
                return find, functools.partial(fitting.open_version, run)
            except fitting.NoExport as reason:
                if must:
                    raise
                logging.warning("TensorFlow translates, which takes longer: %s", reason)
        kind = "tensorflow" if engine == "auto" else kind
        place /= next(row.place for row in FORMATS.values() if row.engine == kind)
    find = functools.partial(versions_for, kind, dtype, place)
    if not find():
        wanted = "" if engine == "auto" else f" --engine={engine}"
        wanted += f" --dtype={dtype}" if dtype else ""
        form = "" if engine in ("auto", "tensorflow") else f" --format={engine}"
        raise ValueError(
            f"{folder} contains no export{wanted and f' for{wanted}'}: neither the folder nor its "
            f"export/ has a numbered version. t2t-export {folder}{form} writes one"
        )
    return find, exports.open_export


def versions_for(engine, dtype, folder):
    """Returns {number: folder} of the versions in a folder, or of the folder's only one."""
    found = {1: folder} if exports.newest_in(folder) == folder else exports.versions_in(folder)
    return {
        number: path
        for number, path in found.items()
        if (path / exports.RECORD).exists()
        and engine in ("auto", exports.engine_of(path))
        and dtype in (None, exports.record_of(path).get("dtype"))
    }


def run_name(folder):
    path = Path(folder).resolve()
    return path.parent.name if path.name.startswith("export") else path.name
