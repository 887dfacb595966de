"""A run's config.json: all resolved settings, package versions, the command line."""

import contextlib
import dataclasses
import importlib.metadata
from pathlib import Path

from pipelines.atomic_files import read_json, with_tuples, write_json
from pipelines.batches.corpora import corpora_in
from pipelines.batches.id_store import SIDES
from pipelines.checks import types_of_fields
from pipelines.data_config import DataConfig
from pipelines.toy.grammar import LANGUAGES
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.models import architecture_of, config_class
from t2t_keras.runs.config_file import invalid, read_config
from t2t_keras.runs.plugins.plugin_files import load_plugins_of, missing_entry
from t2t_keras.training.training_config import TrainingConfig

PACKAGES = ("t2t-keras", "keras", "tensorflow", "sentencepiece", "numpy")


def write_settings(path, experiment, command=(), **facts):
    """Writes a config.json, with `facts` as additional entries."""
    names = [Path(path).name for path in experiment.imports]
    contents = {
        "experiment": dataclasses.asdict(experiment) | {"imports": names},
        "architecture": architecture_of(experiment.model),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "command": list(command),
        **data_facts(experiment.data.folder),
        **facts,
    }
    write_json(path, contents)


def settings_flags(experiment, imports, folder):
    """Writes an `Experiment` to a folder, and returns the flags of commands that use it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_settings(folder / "config.json", dataclasses.replace(experiment, imports=()))
    flags = [f"--config=settings_of:{folder}"]
    return [*flags, f"--imports={','.join(imports)}"] if imports else flags


def data_facts(data):
    """Returns the entries of a config.json about the data in the folder, or the toy grammar's."""
    folders = [*map(Path, corpora_in(data))] if data else []
    prepared = [read_json(folder / "preparation.json", {}) for folder in folders]
    languages = [each.get("languages") for each in prepared] or [LANGUAGES]
    return {
        "preparation": prepared[0] if prepared else {},
        "tags": [each.get("tag") for each in prepared],
        "languages": languages[0] if all(each == languages[0] for each in languages) else None,
        "corpora": [corpus_facts(folder) for folder in folders],
    }


def corpus_facts(folder):
    """Returns a corpus' folder, number of pairs, words of both sides, and files, as a dict."""
    report = read_json(folder / "report.json", {})
    sides = report.get("sides")
    return {
        "folder": str(folder),
        "pairs": sum(read_json(folder / "store.json", {}).values()),
        "words": sides and [sides[side]["words"] for side in SIDES],
        "files": report.get("files", []),
    }


def read_settings(path):
    """Returns the `Experiment` in a run's config.json, and loads the run's plug-in files."""
    contents = read_config(path)
    files = load_plugins_of(path.parent)
    settings = with_tuples(contents["experiment"])
    try:
        make_model = config_class(contents["architecture"])
        data = settings["data"]
        for name, kind in types_of_fields(DataConfig).items():
            if dataclasses.is_dataclass(kind):
                data[name] = kind(**data[name])
        experiment = Experiment(
            model=make_model(**settings["model"]),
            training=TrainingConfig(**settings["training"]),
            data=DataConfig(**data),
            search=SearchConfig(**settings["search"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        with contextlib.suppress(TypeError, AttributeError):  # a setting has a wrong type
            if message := missing_entry(contents, path.parent):
                raise ValueError(message) from error
        raise invalid(path, error) from error
    # Not in the call, which would read the files again.
    experiment.imports = tuple(str(file.path) for file in files)
    return experiment


def check_same_model(path, experiment):
    """Rejects a different model, seed or optimizer, which would not fit the run's checkpoints."""
    started = read_settings(path)
    kinds = [architecture_of(each.model) for each in (started, experiment)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"{path.parent} was started with the model {kinds[0]!r}. Received: {kinds[1]!r}. Give "
            "a different --run"
        )
    known, settings = (with_tuples(dataclasses.asdict(each)) for each in (started, experiment))
    for each in (known, settings):
        each["training"]["freeze"] = sorted(each["training"]["freeze"])
    names = "seed", "freeze", "optimizer", "init_encoder_layers", "init_decoder_layers"
    training = {name: settings["training"][name] for name in names}
    fixed = {"model": settings["model"], "training": training}
    for part, fields in fixed.items():
        for name, value in fields.items():
            old = known[part].get(name)
            if old != value:
                raise ValueError(
                    f"{path.parent} was started with {part}.{name}={old!r}, and its checkpoints "
                    f"depend on it. Received: {value!r}. Keep the setting, or give a different "
                    "--run"
                )
