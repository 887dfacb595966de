"""Finds the models that t2t-serve serves, and their versions, in runs or folders, for an engine."""

import functools
import re
from pathlib import Path

from pipelines.atomic_files import read_json
from t2t_keras.export.formats import LITERT_RECORD, versions_in
from t2t_keras.runs.exports.engine_choice import NoExport, fitting_versions, has_gpu
from t2t_keras.runs.plugins.plugin_files import load_method
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.serving.served_models import ModelSource, newest_languages
from t2t_keras.translating.engines.ctranslate2 import CTranslate2Engine, is_ctranslate2
from t2t_keras.translating.engines.preferred import tell_fallback
from t2t_keras.translating.export_folders import EXPORT_AGAIN, is_litert
from t2t_keras.translating.languages import is_pair, languages_in_name, languages_of

LITERT = "export_litert"  # folder inside a run


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
    if recorded and named and named != recorded and is_pair(model.name):
        raise ValueError(
            f"the model named {model.name} translates {recorded.source} to {recorded.target}, as "
            f"{folder} records. Give it a different name"
        )
    return recorded or named


def find_versions(folder, engine="auto", dtype=None):
    """Returns the folder of exported versions, the run's name, and further arguments of
    `ModelSource`.

    Args:
        folder: a run's folder, the folder of the versions itself, or a CTranslate2 folder.
        engine, dtype: values of --engine and --dtype.
    """
    folder = Path(folder)
    of_run = folder / "export_ctranslate2"
    if engine == "ctranslate2" and not is_ctranslate2(folder) and is_ctranslate2(of_run):
        folder = of_run
    if is_ctranslate2(folder) and engine in ("auto", "ctranslate2"):
        return folder, run_name(folder), {"load": load_ctranslate2, "find": only_version}
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
    """Returns the folder of versions in a run's folder and arguments of `ModelSource`, or None."""
    saved_models, litert = folder / "export", folder / LITERT
    must = engine == "litert" or dtype not in (None, "float32")
    if engine in ("auto", "litert") and versions_for("litert", dtype or "float32", litert):
        find = functools.partial(versions_of_run, RunFolder(folder), dtype or "float32")
        try:
            if not must and has_gpu():
                raise NoExport("there is a GPU, which it uses")
            find.func(*find.args)
        except NoExport as error:
            if must:
                raise
            tell_fallback(error)
        else:
            load = functools.partial(load_litert, RunFolder(folder))
            return litert, {"find": functools.partial(without_errors, find), "load": load}
    return (saved_models, {}) if engine != "litert" and versions_in(saved_models) else None


def versions_of_run(run, dtype, folder=None):
    """Returns {number: folder} of the models for LiteRT that belong to a run's weights.

    In a copy that contains only exports, these are the models with the weights of the newest
    SavedModel, if there is one.

    Args:
        run: a `RunFolder`.
        dtype: type of their weights.
        folder: ignored.

    Raises:
        NoExport: the run has no such model.
    """
    if run.config_file.exists():
        return fitting_versions(run, "litert", dtype)
    found = versions_for("litert", dtype, run.folder / LITERT)
    saved_models = versions_in(run.folder / "export")
    if saved_models:
        newest = saved_models[max(saved_models)]
        digest = digest_of(newest)
        found = {number: path for number, path in found.items() if digest_of(path) == digest}
        if not found:
            raise NoExport(f"no export in {run.folder / LITERT} has the weights of {newest}")
    return found


def digest_of(version):
    return facts_of(version).get("weights", {}).get("digest")


def without_errors(find, folder):
    """Returns the versions, or none while the run or an export is being changed."""
    try:
        return find(folder)
    except ValueError:
        return {}


def load_litert(run, folder):
    """Returns the model in a version's folder, with the run's current alignment head."""
    from t2t_keras.serving.engine_model import EngineModel
    from t2t_keras.translating.engines.litert import LiteRTEngine

    if run.config_file.exists():
        load_method(run.folder, run.search_settings().method)
    engine = LiteRTEngine(folder)
    if (head := run.alignment_head()) is not None:
        engine.align_with(head)
    return EngineModel(engine)


def versions_for(engine, dtype, folder):
    """Returns {number: folder} of the versions in a folder.

    Args:
        engine: "litert" or "tensorflow", or "auto" for both.
        dtype: type of their weights. None: any.
        folder: the folder.
    """
    found = versions_in(folder)
    if engine != "auto":
        found = {n: path for n, path in found.items() if is_litert(path) == (engine == "litert")}
    if dtype is not None:
        found = {n: path for n, path in found.items() if may_have_dtype(path, dtype)}
    return found


def may_have_dtype(version, dtype):
    """Whether a version has weights of a type, or a damaged record, which loading reports."""
    try:
        return facts_of(version).get("dtype") == dtype
    except (OSError, ValueError, AttributeError):
        return True


def facts_of(version):
    """Returns the recorded facts about the weights of a version, as a dict."""
    if is_litert(version):
        return read_json(version / LITERT_RECORD, {}, EXPORT_AGAIN)
    return read_json(version / "config.json", {}, EXPORT_AGAIN).get("export", {})


def run_name(export):
    path = export.resolve()
    return path.parent.name if path.name.startswith("export") else path.name


def load_ctranslate2(folder):
    """Returns the model in a CTranslate2 folder, which needs neither TensorFlow nor Keras."""
    from t2t_keras.serving.engine_model import EngineModel

    return EngineModel(CTranslate2Engine(folder))


def only_version(folder):
    """Returns a CTranslate2 folder as version 1, which is loaded again when its files change."""
    return {1: folder} if is_ctranslate2(folder) else {}
