"""Converts a trained model of another system into a run."""

import collections.abc
import shutil
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
from absl import logging

from pipelines.atomic_files import atomic_folder, write_json
from pipelines.languages.language_codes import normalized
from pipelines.text.normalization import Normalization
from pipelines.tokenizers import SIDES, SeparateTokenizers, load_tokenizer, save_tokenizer
from pipelines.tokenizers.mapped_sentencepiece import MappedSentencePiece
from pipelines.tokenizers.separated_tokens import TokenTokenizer
from pipelines.tokenizers.tensor2tensor_subwords import SubwordTokenizer
from t2t_keras.decoding.search_config import SearchConfig
from t2t_keras.experiment import Experiment
from t2t_keras.importing import hub
from t2t_keras.importing.formats import read_model
from t2t_keras.importing.packages import source_of
from t2t_keras.parameters import parameter_counts, without_values
from t2t_keras.runs.config_file import read_config
from t2t_keras.runs.importing.model_source import ModelSource, check_new, find_model
from t2t_keras.runs.run import Run
from t2t_keras.runs.run_folder import RunFolder
from t2t_keras.runs.settings_file import read_settings, write_settings
from t2t_keras.training.checkpoints import named
from t2t_keras.training.step.trainable_models import TrainableTransformer
from t2t_keras.translating.exports import verified_record, versions_in


class Import(NamedTuple):
    """The result of `import_run`."""

    run: Run
    model: object  # the `Imported` model, or None for a run of this package
    weights: int  # number of weights


def import_run(model, run, format=None, command=(), languages=None, show=logging.info, **options):
    """Converts another system's trained model and writes it as a run; returns an `Import`.

    Args:
        model: path of the folder with the other system's files, or of a file (see
            `importing.packages.source_of`), an address of the Hugging Face Hub, such as
            "hf:Helsinki-NLP/opus-mt-en-de", or the result of `find_model`.
        run: path of the new run's folder.
        format: one of `importing.formats.FORMATS`. If None, it is recognized from the files.
        command: command-line arguments, recorded in the run's config.json.
        languages: the `Languages` of the model. If None, they are what a model of the Hub records.
        show: called with each line about a download.
        **options: options of the format, such as `target_space` for tensor2tensor.
    """
    check_new(Path(run))
    source = model
    if not isinstance(model, ModelSource):
        source = find_model(model, format, languages, show, **options)
    with atomic_folder(run) as folder:
        if source.format == hub.RUN:
            imported, config = None, copy_run(source, folder)
        else:
            imported = convert(source, folder, command, options)
            config = imported.config
    return Import(Run(run), imported, sum(parameter_counts(config).values()))


def convert(source, folder, command, options):
    """Writes another system's model as a run, and returns the `Imported` model."""
    run, unpacked = RunFolder(folder), folder / "unpacked"
    try:
        place, format, implied = source_of(source.folder, source.format, unpacked)
        imported = read_model(place, format, **implied, **options)
        arrays = Arrays(imported)
        try:
            tokenizer_of(imported)  # raises its errors before the weights are written
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from error
        run.checkpoints.save(0, arrays, {"imported": imported.system, "best_step": None})
    except ValueError as error:  # names files of a zip file by their paths in it
        raise ValueError(str(error).replace(f"{unpacked}", f"{source.folder}")) from error.__cause__
    # Made after the weights are written, because a large tokenizer needs memory, too: a tenth of
    # the memory of the weights.
    save_tokenizer(tokenizer_of(imported), folder / "vocabulary")
    shutil.rmtree(unpacked, ignore_errors=True)
    facts = {"imported": imported.system, "languages": source.languages or languages_of(imported)}
    if origin := source.origin or imported.origin:
        facts["origin"] = origin
    experiment = Experiment(model=imported.config, search=SearchConfig(**imported.search))
    write_settings(run.config_file, experiment, command, **facts)
    return imported


def copy_run(source, folder):
    """Copies a downloaded run into a new folder, and returns the `TransformerConfig`."""
    config = checked(source.folder).model
    for name in source.files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.folder / name, folder / name)
    facts = {"languages": source.languages, "origin": source.origin}
    write_json(folder / "config.json", read_config(source.folder / "config.json") | facts)
    return config


def checked(folder):
    """Returns the `Experiment` of a downloaded run. Damage raises `ValueError` with its file."""
    run = RunFolder(folder)
    experiment = read_settings(run.config_file)
    run.averaged.state()  # fails if it is damaged
    load_tokenizer(folder / "vocabulary")
    for version in versions_in(folder / "export_litert").values():
        verified_record(version)
    return experiment


def languages_of(imported):
    """Returns the usual codes of the languages of an `Imported` model; None if any is unknown."""
    try:
        return [*map(normalized, imported.languages or ())] or None
    except ValueError as error:
        imported.notes.append(f"its languages are not recorded: {error}")
        return None


def tokenizer_of(imported):
    sides, config = (imported.source, imported.target), imported.config
    if imported.own_vocabulary is not None:
        tokenizer = load_tokenizer(imported.own_vocabulary)
    elif imported.source is imported.target:
        tokenizer = TOKENIZERS[imported.target.kind](imported.target)
    else:
        tokenizer = SeparateTokenizers(*(TOKENIZERS[side.kind](side) for side in sides))
    rows = {"source": config.source_vocab_size or config.vocab_size, "target": config.vocab_size}
    for side in SIDES:
        size = getattr(tokenizer, side).size
        if size != rows[side]:
            raise ValueError(
                f"the vocabulary of the {side} has {size:,} pieces, but the model {rows[side]:,}. "
                "They do not belong together"
            )
    return tokenizer


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
    """The arrays of a checkpoint of an `Imported` model. Reading an array converts it."""

    def __init__(self, imported):
        model = without_values(lambda: TrainableTransformer(imported.config, name="model"))
        self.variables, self.weights = named("model", model.variables), imported.weights
        needed = {path_of(weight): tuple(weight.shape) for weight in model.trainable_weights}
        found = {path: tensor.shape for path, tensor in self.weights.items()}
        for path in needed.keys() | found.keys():
            if needed.get(path) != found.get(path):
                raise ValueError(
                    f"The weight {path} must have the shape {needed.get(path)}. "
                    f"Received: {found.get(path)}"
                )

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
