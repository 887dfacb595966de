"""Converts a trained model of another system into a run."""

import collections.abc
import re
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np

from pipelines.atomic_files import atomic_folder
from pipelines.text.normalization import Normalization
from pipelines.tokenizers import SIDES, SeparateTokenizers, load_tokenizer, save_tokenizer
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from pipelines.tokenizers.separated_tokens import TokenTokenizer
from pipelines.tokenizers.tensor2tensor_subwords import SubwordTokenizer
from t2t_keras.checks import nearest
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.importing.formats import read_model
from t2t_keras.parameters import without_values
from t2t_keras.runs.run import Run
from t2t_keras.runs.settings_file import write_settings
from t2t_keras.training.checkpoints import named
from t2t_keras.training.trainable_models import TrainableTransformer

STEP = 0  # step number of the checkpoint with the imported weights
UNFINISHED = "config.json.unfinished"
# Names of the files and folders that a killed import may leave in the run's folder.
LEFTOVERS = r"config\.json\.unfinished|vocabulary(\..*\.unfinished)?|checkpoints"


class Import(NamedTuple):
    """The result of `import_run`.

    Args:
        run: the `Run`.
        model: the `Imported` model.
        weights: number of weights.
    """

    run: Run
    model: object
    weights: int


def import_run(folder, run, format=None, command=(), **options):
    """Converts another system's trained model and writes it as a run.

    Args:
        folder: path of the folder with the other system's files.
        run: path of the new run's folder.
        format: one of `importing.formats.FORMATS`. If None, it is recognized from the files.
        command: command-line arguments, recorded in the run's config.json.
        **options: options of the format, such as `target_space` for tensor2tensor.

    Returns:
        An `Import`.
    """
    run = Run(run)
    check_new(run)
    imported = read_model(folder, format, **options)
    arrays = Arrays(imported)
    try:
        tokenizer_of(imported)  # raises its errors before the weights are written
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error
    experiment = Experiment(model=imported.config, search=SearchConfig(**imported.search))
    with run.locked():
        check_new(run)
        clear(run)
        try:
            (run.folder / UNFINISHED).touch()
            run.checkpoints.save(STEP, arrays, {"imported": imported.system, "best_step": None})
            # Made after the weights are written, because a large tokenizer needs memory, too: a
            # tenth of the memory of the weights.
            with atomic_folder(run.folder / "vocabulary") as unfinished:
                save_tokenizer(tokenizer_of(imported), unfinished)
            # config.json is written last, because a folder without it is not a run.
            facts = {"imported": imported.system, "languages": None}
            write_settings(run.config_file, experiment, command, **facts)
        except BaseException:
            clear(run)
            raise
    return Import(run, imported, arrays.count)


def check_new(run):
    """Rejects a folder that contains files, except those of an interrupted import.

    During an import, the folder contains the file `UNFINISHED`, which then becomes config.json.
    """
    if run.folder.exists() and not run.folder.is_dir():
        raise ValueError(f"{run.folder} is a file. Give the name of a new folder")
    names = {path.name for path in run.folder.glob("*")} - {".lock"}
    if UNFINISHED in names:
        names = {name for name in names if not re.fullmatch(LEFTOVERS, name)}
        steps = run.checkpoints.folder.glob("*")
        names |= {path.name for path in steps if path.stem != run.checkpoints.path(STEP).stem}
    if names:
        raise ValueError(
            f"{run.folder} exists already, with {', '.join(sorted(names)[:3])}. Give the name of a "
            "new folder"
        )


def clear(run):
    """Deletes all files that `check_new` accepts, `UNFINISHED` last."""
    for path in sorted(run.folder.glob("*"), key=lambda path: path.name == UNFINISHED):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name != ".lock":
            path.unlink()


def tokenizer_of(imported):
    """Returns the tokenizer of an `Imported` model."""
    tokenizer, config = new_tokenizer(imported), imported.config
    rows = {"source": config.source_vocab_size or config.vocab_size, "target": config.vocab_size}
    for side in SIDES:
        size = getattr(tokenizer, side).size
        if size != rows[side]:
            raise ValueError(
                f"the vocabulary of the {side} has {size:,} pieces, but the model {rows[side]:,}. "
                "They do not belong together"
            )
    return tokenizer


def new_tokenizer(imported):
    if imported.own_vocabulary is not None:
        return exported_tokenizer(imported.own_vocabulary)
    if imported.source is imported.target:
        return TOKENIZERS[imported.target.kind](imported.target)
    sides = imported.source, imported.target
    return SeparateTokenizers(*(TOKENIZERS[side.kind](side) for side in sides))


def exported_tokenizer(folder):
    """Returns the tokenizer in an export's folder; see `engine_exports.vocabulary_files`."""
    with tempfile.TemporaryDirectory() as temporary:
        for path in folder.iterdir():
            side, _, name = path.name.partition(".")
            if side in SIDES and name:
                (Path(temporary) / side).mkdir(exist_ok=True)
                shutil.copyfile(path, Path(temporary) / side / name)
        separate = (folder / "source.tokenizer.json").exists()
        return load_tokenizer(temporary if separate else folder)


# Neither composes nor removes characters, because the model may have learned them.
PLAIN = Normalization(nfc=False, control_characters=False, space_sign=False)
TOKENIZERS = {
    "subwords": lambda side: SubwordTokenizer(side.pieces, PLAIN),
    "tokens": lambda side: TokenTokenizer(side.pieces, PLAIN, side.begin),
    "sentencepiece": lambda side: MappedSentencePiece(
        side.model, side.pieces, PLAIN, side.codes, side.begin
    ),
}


class Arrays(collections.abc.Mapping):
    """The arrays of a checkpoint. Reading an array converts it.

    Args:
        imported: an `Imported` model, which must have a tensor of the right shape for each weight.
    """

    def __init__(self, imported):
        model = without_values(lambda: TrainableTransformer(imported.config, name="model"))
        self.variables = named("model", model.variables)
        self.weights = dict(imported.weights)
        self.count = 0
        paths = set()
        for variable in model.weights:
            path = path_of(variable)
            paths.add(path)
            if variable.trainable:
                self.check(path, tuple(variable.shape))
        if unknown := self.weights.keys() - paths:
            raise AssertionError(f"weights that the model does not have: {sorted(unknown)}")

    def check(self, path, shape):
        if path not in self.weights:
            raise ValueError(
                f"The model has nothing for our weight {path}{nearest(path, self.weights)}"
            )
        if self.weights[path].shape != shape:
            raise ValueError(
                f"The weight {path} must have the shape {shape}. "
                f"Received: {self.weights[path].shape}"
            )
        self.count += int(np.prod(shape))

    def __getitem__(self, name):
        variable = self.variables[name]
        tensor = self.weights.get(path_of(variable))
        if tensor is None:  # the seed of a dropout layer
            return np.zeros(variable.shape, keras.backend.standardize_dtype(variable.dtype))
        array = tensor.read()
        if not np.isfinite(array).all():
            raise ValueError(f"The weights of {path_of(variable)} are not finite")
        return array

    def __iter__(self):
        return iter(self.variables)

    def __len__(self):
        return len(self.variables)


def path_of(variable):
    return variable.path.split("/", 1)[1]
