"""Finds the models that t2t-serve serves, and their versions, in runs or folders, for an engine."""

import functools
import re
from pathlib import Path

from absl import logging

from t2t_keras.export.formats import FORMATS
from t2t_keras.runs.exports.fitting import (
    NoExport,
    fitting_versions,
    has_gpu,
    open_version,
    requested,
)
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.serving.served_models import ModelSource, newest_languages
from t2t_keras.translating.exports import RECORD, engine_of, newest_in, record_of, versions_in
from t2t_keras.translating.languages import languages_in_name, languages_of


def find_models(arguments, name=None, engine="auto", dtype=None):
    """Returns the `ModelSource` of each argument.

    Args:
        arguments: the positional arguments, each RUN or NAME=RUN.
        name: value of --name.
        engine, dtype: see `find_versions`.
    """
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
        found, own_name, source = find_versions(folder, engine, dtype)
        given = name if name is not None else given
        model = ModelSource(given or own_name, found, **source)
        models.append(model._replace(languages=languages_for(Path(folder), model)))
    check_names([model.name for model in models])
    return models


def split_name(argument):
    """Returns the name, or None, and the folder in an argument RUN or NAME=RUN."""
    name, separator, folder = argument.partition("=")
    if not separator or "/" in name or Path(argument).exists():
        return None, argument
    if not (name and folder):
        raise ValueError(f"NAME=RUN must have a name and a folder. Received: {argument!r}")
    return name, folder


def with_glossaries(models, given):
    """Returns the `ModelSource`s with their glossaries.

    Args:
        models: the `ModelSource`s.
        given: the values of --glossary.
    """
    glossaries, names = {}, [model.name for model in models]
    for value in given:
        name, path = split_name(value)
        if name is None and len(models) == 1:
            name = names[0]
        if name not in names or name in glossaries:
            raise ValueError(
                "--glossary must name one file for a model: FILE, or with several models NAME=FILE "
                f"with NAME among {', '.join(names)}. Received: {','.join(given)}"
            )
        if not Path(path).is_file():
            raise ValueError(f"--glossary: there is no file {path}")
        glossaries[name] = Path(path)
    return [model._replace(glossary=glossaries.get(model.name)) for model in models]


def check_names(names):
    for name in names:
        if not re.fullmatch(r"[^/:\x00-\x1f]+", name):
            raise ValueError(
                "the name of a model must not contain /, : or control characters. Received: "
                f"{name!r}. --name=NAME and NAME=RUN set it"
            )
        if names.count(name) > 1:
            raise ValueError(
                f"each model must have its own name. Received: {name!r} {names.count(name)} times. "
                "NAME=RUN names a model"
            )


def languages_for(folder, model):
    """Returns the `Languages` of versions that do not record theirs: the run's, or the name's.

    Args:
        folder: the folder of the run, as given.
        model: the `ModelSource`.
    """
    recorded = newest_languages(model.versions()) or languages_of(folder)
    named = languages_in_name(model.name)
    if recorded and named and named != recorded and model.name.count("-") == 1:
        raise ValueError(
            f"the model named {model.name} translates {recorded.source} to {recorded.target}, as "
            f"{folder} records. Give it a different name"
        )
    return recorded or named


def find_versions(folder, engine="auto", dtype=None):
    """Returns the folder of exported versions, the run's name, and further arguments of
    `ModelSource`.

    Args:
        folder: a run's folder, or the folder of an export.
        engine, dtype: values of --engine and --dtype.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"there is no folder {folder}")
    found, source = in_run(folder, engine, dtype) or (folder, {})
    find = source.setdefault("find", functools.partial(versions_for, engine, dtype))
    if not find(found):
        wanted = "" if engine == "auto" else f" --engine={engine}"
        wanted += f" --dtype={dtype}" if dtype else ""
        form = "" if engine in ("auto", "tensorflow") else f" --format={engine}"
        raise ValueError(
            f"{folder} contains no export{wanted and f' for{wanted}'}: neither the folder nor its "
            f"export/ has a numbered version. t2t-export {folder}{form} writes one"
        )
    return found, run_name(found), source


def in_run(folder, engine, dtype):
    """Returns the folder of versions in a run's folder and arguments of `ModelSource`, or None.

    The folder may be a copy of the exports alone, without the run's settings and weights.
    """
    places = {row.engine: folder / row.place for row in FORMATS.values() if row.engine}
    if newest_in(folder) or not any(map(versions_in, places.values())):
        return None
    if engine in ("tensorflow", "ctranslate2"):
        return places[engine], {}
    run, must = RunFolder(folder), requested(engine, dtype)[1]
    dtype = dtype or "float32"

    def find(litert=places["litert"]):
        if run.config_file.exists():
            return fitting_versions(run, "litert", dtype)
        return versions_for("litert", dtype, litert)

    if not versions_for("litert", dtype, places["litert"]):
        return None if must else (places["tensorflow"], {})
    try:
        if not must and has_gpu():
            raise NoExport("there is a GPU, which it uses")
        find()
    except NoExport as reason:
        if must:
            raise
        logging.warning("TensorFlow translates, which takes longer: %s", reason)
        return places["tensorflow"], {}
    load = functools.partial(open_version, run)
    return places["litert"], {"find": lambda _: without_errors(find), "load": load}


def without_errors(find):
    """Returns the versions, or none while the run or an export is being changed."""
    try:
        return find()
    except ValueError:
        return {}


def versions_for(engine, dtype, folder):
    """Returns {number: folder} of the versions in a folder.

    Args:
        engine: kind of engine, or "auto" for all.
        dtype: type of their weights. None: any.
        folder: the folder of the versions, or of a single one.
    """
    found = {1: folder} if newest_in(folder) == folder else versions_in(folder)
    return {
        number: path
        for number, path in found.items()
        if (path / RECORD).exists()
        and engine in ("auto", engine_of(path))
        and dtype in (None, record_of(path).get("dtype"))
    }


def run_name(export):
    path = export.resolve()
    return path.parent.name if path.name.startswith("export") else path.name
