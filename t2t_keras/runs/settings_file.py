"""A run's config.json: every setting as resolved, package versions, the command line."""

import dataclasses
import importlib.metadata

from pipelines.batch_plan import BatchConfig
from pipelines.cleaning import CleaningConfig
from pipelines.data_config import DataConfig
from pipelines.vocabulary import VocabularyConfig
from pipelines.whole import read_json, write_json
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

PACKAGES = ("t2t-keras", "keras", "tensorflow", "sentencepiece", "numpy")


def write_settings(path, experiment, command=()):
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    settings = dataclasses.asdict(experiment)
    write_json(path, {"experiment": settings, "versions": versions, "command": list(command)})


def read_settings(path):
    """Returns the `Experiment` in a config.json."""
    settings = read_json(path)["experiment"]
    data = settings["data"]
    data["cleaning"] = CleaningConfig(**data["cleaning"])
    data["vocabulary"] = VocabularyConfig(**data["vocabulary"])
    data["batches"] = BatchConfig(**data["batches"])
    return Experiment(
        model=TransformerConfig(**settings["model"]),
        training=TrainingConfig(**settings["training"]),
        data=DataConfig(**data),
        search=SearchConfig(**settings.get("search", {})),
    )


def check_same_model(path, experiment):
    """Rejects a different model or seed, because the run's checkpoints would not fit it."""
    known, settings = read_json(path)["experiment"], dataclasses.asdict(experiment)
    fixed = {"model": settings["model"], "training": {"seed": settings["training"]["seed"]}}
    for part, fields in fixed.items():
        for name, value in fields.items():
            old = known[part].get(name)
            if old != value:
                raise ValueError(
                    f"{path.parent} was started with {part}.{name}={old!r}, and its checkpoints "
                    f"depend on it. Received: {value!r}. Keep the setting, or give a different "
                    "--run"
                )
