"""A run's folder: everything that training, and whatever comes after it, needs to know.

RUN/
  config.json          every setting as resolved, versions, the command line
  vocabulary/          the sub-word model
  checkpoints/         training state, newest N kept
  logs/                TensorBoard
  metrics.jsonl        one line an evaluation
  averaged.weights.h5  the averaged weights
"""

import dataclasses
import importlib.metadata
import json
import shutil
import sys
from pathlib import Path

from pipelines.batch_plan import BatchConfig
from pipelines.cleaning import CleaningConfig
from pipelines.data_config import DataConfig
from pipelines.tokenizers import load_tokenizer
from pipelines.vocabulary import VocabularyConfig
from pipelines.whole import only_one, read_json, whole_folder, write_json
from t2t_keras.decoding.ensemble import Ensemble
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.training.checkpoints import Checkpoints, average, restore
from t2t_keras.training.trainer import whole_line
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig

PACKAGES = ("t2t-keras", "keras", "tensorflow", "sentencepiece", "numpy")


class Run:
    """A run's folder.

    Args:
        folder: its path.
    """

    def __init__(self, folder):
        self.folder = Path(folder)

    @property
    def config_file(self):
        return self.folder / "config.json"

    @property
    def averaged_weights(self):
        return self.folder / "averaged.weights.h5"

    def begin(self, experiment, vocabulary):
        """Makes the folder and notes its settings; or checks that it was begun with these.

        What makes the weights what they are must not change: the model, and what its ids mean.
        How long and how to train may.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = dataclasses.asdict(experiment)
        if self.config_file.exists():
            self.refuse_change(settings, vocabulary)
        else:
            others = [path.name for path in self.folder.iterdir() if path.name != ".lock"]
            if set(others) - {"vocabulary"}:
                raise ValueError(
                    f"{self.folder} is no run, and has other things in it "
                    f"({', '.join(sorted(others)[:3])}). Give the name of a new folder"
                )
            with whole_folder(self.folder / "vocabulary") as unfinished:
                shutil.copytree(vocabulary, unfinished, dirs_exist_ok=True)
        versions = {name: importlib.metadata.version(name) for name in PACKAGES}
        contents = {"experiment": settings, "versions": versions, "command": sys.argv}
        write_json(self.config_file, contents)

    def join(self, experiment, vocabulary):
        """Checks that another machine has begun the run, and with these settings."""
        if not self.config_file.exists():
            raise ValueError(
                f"{self.folder} was begun by the first machine of this job, and is not seen from "
                "here. All machines need the same folder, under the same name"
            )
        self.refuse_change(dataclasses.asdict(experiment), vocabulary)

    def refuse_change(self, settings, vocabulary):
        known = read_json(self.config_file)["experiment"]
        fixed = {"model": settings["model"], "training": {"seed": settings["training"]["seed"]}}
        for part, fields in fixed.items():
            for name, value in fields.items():
                before = known[part].get(name)
                if before != value:
                    raise ValueError(
                        f"{self.folder} was begun with {part}.{name}={before!r}, and "
                        f"not {value!r}: its checkpoints are of that model. Keep the setting, or "
                        "give a new --run"
                    )
        ours, theirs = (load_tokenizer(path) for path in (self.folder / "vocabulary", vocabulary))
        if ours.contents() != theirs.contents():
            raise ValueError(
                f"{self.folder} was begun with another vocabulary than that in {vocabulary}. Give "
                "the same data, or a new --run"
            )

    def experiment(self):
        """The settings that the run was made with."""
        if not self.config_file.exists():
            raise ValueError(f"{self.folder} is no run: it has no config.json. t2t-train makes one")
        settings = read_json(self.config_file)["experiment"]
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

    def prepared_with(self, what):
        """What the notes of its encoded text say of it; None if these are not there."""
        folder = self.experiment().data.folder
        notes = read_json(Path(folder) / "preparation.json", {}) if folder else {}
        return notes.get(what)

    def model(self, weights=None):
        """The trained model.

        Args:
            weights: "averaged", "best", "newest" or a step's number. None: the averaged ones if
                there are any, else the newest.
        """
        checkpoints = Checkpoints(self.folder / "checkpoints")
        model = self.experiment().new_model()
        steps = {str(step): step for step in checkpoints.steps()}
        if steps:
            steps |= {"newest": max(steps.values()), "best": checkpoints.best()}
        if weights is None:
            weights = "averaged" if self.averaged_weights.exists() else "newest"
        if weights == "averaged" and self.averaged_weights.exists():
            model.load_weights(self.averaged_weights)
            return model
        if steps.get(weights) is None:
            raise ValueError(
                f"{self.folder} has no weights {weights!r}. It has: "
                f"{', '.join(name for name, step in steps.items() if step) or 'none yet'}"
            )
        state, _ = checkpoints.load(steps[weights])
        restore(model, {name: array for name, array in state.items() if "model/" in name})
        return model

    def average(self, last):
        """Writes the averaged weights of the last checkpoints; returns them, and their steps."""
        experiment = self.experiment()
        weights, steps = average(Checkpoints(self.folder / "checkpoints"), last)
        model = experiment.new_model()
        restore(model, weights)
        unfinished = self.folder / "unfinished.weights.h5"
        model.save_weights(unfinished)
        unfinished.rename(self.averaged_weights)
        return weights, steps

    def evaluations(self):
        """What was measured while it was trained: a dict for each line of `metrics.jsonl`."""
        found = self.evaluations_so_far()
        if not found:
            raise ValueError(
                f"{self.folder} has no evaluation in its metrics.jsonl yet. The first comes "
                f"after {self.experiment().training.evaluate_every:,} steps"
            )
        return found

    def evaluations_so_far(self):
        """The same, where there may be none."""
        self.experiment()  # says what is wrong with the run
        path = self.folder / "metrics.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if whole_line(line)]

    def tokenizer(self):
        return load_tokenizer(self.folder / "vocabulary")

    def locked(self):
        """Keeps every other process from training in this folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return only_one(self.folder)


class Together:
    """Several runs that translate as an ensemble; to be used as a `Run` is.

    Args:
        folders: their paths.
    """

    def __init__(self, folders):
        self.runs = [Run(folder) for folder in folders]
        tokenizers = [run.tokenizer() for run in self.runs]
        for run, tokenizer in zip(self.runs, tokenizers, strict=True):
            if tokenizer.contents() != tokenizers[0].contents():
                raise ValueError(
                    f"{run.folder} has another vocabulary than {self.runs[0].folder}: runs that "
                    "translate together must be trained with the same (t2t-prepare --vocabulary)"
                )

    def experiment(self):
        """The settings of the first; its search is that of all."""
        return self.runs[0].experiment()

    def tokenizer(self):
        return self.runs[0].tokenizer()

    def model(self, weights=None):
        return Ensemble([run.model(weights) for run in self.runs])


def finished(folders):
    """The run in a folder, or the runs in several."""
    if not folders:
        raise ValueError("takes the folder of a run, or of several that translate together")
    for folder in folders:
        Run(folder).experiment()  # says what is wrong with it
    return Run(folders[0]) if len(folders) == 1 else Together(folders)
