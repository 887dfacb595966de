"""A run's config.json: every setting as resolved, package versions, the command line."""

import dataclasses
import importlib.metadata
from pathlib import Path

from pipelines.batch_plan import BatchConfig
from pipelines.bpe_dropout import EncodingsConfig
from pipelines.cleaning import CleaningConfig
from pipelines.corpora import corpora_in, tag_in
from pipelines.data_config import DataConfig
from pipelines.vocabulary import VocabularyConfig
from pipelines.whole import read_json, write_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.models import architecture_of, config_class
from t2t_keras.training.training_config import TrainingConfig

RESTORE = (
    "Restore it from a copy; each export contains one. If you edited it on purpose, delete its "
    'entry "checksum"'
)
PACKAGES = ("t2t-keras", "keras", "tensorflow", "sentencepiece", "numpy")


def write_settings(path, experiment, command=(), **facts):
    """Writes a config.json; `facts` are further entries of it."""
    contents = {
        "experiment": dataclasses.asdict(experiment),
        "architecture": architecture_of(experiment.model),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
        "command": list(command),
        "preparation": preparation_of(experiment.data.folder),
        "tags": tags_of(experiment.data.folder),
        **facts,
    }
    write_json(path, contents)


def preparation_of(data):
    """Returns the `preparation.json` of a run's data, or None if it is not found.

    Args:
        data: `data.folder`. Of several corpora, the first one counts.
    """
    if not data:
        return {}
    try:
        folder = corpora_in(data)[0].folder
    except ValueError:  # a folder that is gone; its name may contain commas and colons
        return None
    return read_json(Path(folder) / "preparation.json")


def tags_of(data):
    """Returns the tag of each corpus of a run's data; None for one without a tag.

    Args:
        data: `data.folder`.
    """
    return [tag_in(corpus.folder) for corpus in corpora_in(data)] if data else []


def read_config(path):
    """Returns the contents of a config.json, as `write_settings` wrote it."""
    contents = read_json(path, remedy=RESTORE)
    if contents is None:
        raise ValueError(
            f"{path.parent} is not a run: it has no config.json. t2t-train creates runs"
        )
    if not isinstance(contents.get("experiment"), dict):
        raise invalid(path, "it has no settings of an experiment")
    return contents


def read_settings(path):
    """Returns the `Experiment` in a config.json."""
    contents = read_config(path)
    settings = with_tuples(contents["experiment"])
    try:
        make_model = config_class(contents.get("architecture", "transformer"))
        data = settings["data"]
        data["cleaning"] = CleaningConfig(**data["cleaning"])
        data["vocabulary"] = VocabularyConfig(**data["vocabulary"])
        data["batches"] = BatchConfig(**data["batches"])
        data["encodings"] = EncodingsConfig(**data.get("encodings", {}))
        return Experiment(
            model=make_model(**settings["model"]),
            training=TrainingConfig(**settings["training"]),
            data=DataConfig(**data),
            search=SearchConfig(**settings.get("search", {})),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise invalid(path, error) from error


def with_tuples(value):
    """Returns a value from JSON with its lists, in any depth, as tuples."""
    if isinstance(value, dict):
        return {name: with_tuples(each) for name, each in value.items()}
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value


def invalid(path, error):
    if isinstance(error, KeyError):
        error = f"{error} is missing"
    return ValueError(f"{path} does not describe a run: {error}. {RESTORE}")


def check_same_model(path, experiment):
    """Rejects a different model or seed, because the run's checkpoints would not fit it."""
    started = read_settings(path)
    kinds = [architecture_of(each.model) for each in (started, experiment)]
    if kinds[0] != kinds[1]:
        raise ValueError(
            f"{path.parent} was started with the model {kinds[0]!r}. Received: {kinds[1]!r}. Give "
            "a different --run"
        )
    known, settings = dataclasses.asdict(started), dataclasses.asdict(experiment)
    for each in (known, settings):
        each["training"]["freeze"] = sorted(each["training"]["freeze"])
    training = {name: settings["training"][name] for name in ("seed", "freeze")}
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
