"""The formats of trained models that can be imported: one module and one row of `FORMATS` each.

Importable without TensorFlow and Keras, so that a download begins at once.
"""

import fnmatch
import importlib
from pathlib import Path
from typing import NamedTuple

from t2t_keras.checks import check_choice
from t2t_keras.importing.accompanying_files import read_json_file
from t2t_keras.importing.sentencepiece_models import compare_pieces

BESIDE = ("*.json", "*.txt", "*.yml", "*.yaml", "*.spm", "*.model", "*.vocab", "*vocab*")


class Format(NamedTuple):
    """A format. Its module has the same name and a function `read(folder, **options)`.

    Args:
        sign: pattern of the file by which a folder is recognized.
        keys: that file, in JSON, has at least one of these keys. (): any file.
        options: options of `read`, each set by the flag of its name.
        weights: patterns of the files with weights in a repository of the Hugging Face Hub. The
            first one that occurs is used. (): the Hub has no models of this format.
        beside: patterns of the other files that are downloaded.
        files: names of files that stand for their folder.
    """

    sign: str
    keys: tuple = ()
    options: tuple = ()
    weights: tuple = ()
    beside: tuple = BESIDE
    files: tuple = ()

    def fits(self, folder):
        """Returns whether a folder contains a model of this format."""
        found = any(folder.glob(self.sign))
        if not found or not self.keys:
            return found
        return bool(set(self.keys) & read_json_file(folder / self.sign, {}).keys())


SOURCE = ("source_begin", "source_end")
FORMATS = {
    "hugging_face": Format(
        sign="config.json",
        keys=("model_type",),
        weights=("model.safetensors", "pytorch_model.bin"),
        beside=(
            *("config.json", "generation_config.json", "tokenizer_config.json"),
            *("vocab.json", "target_vocab.json", "source.spm", "target.spm"),
        ),
        files=("model.safetensors", "pytorch_model.bin"),
    ),
    "ctranslate2": Format(
        sign="model.bin", options=SOURCE, weights=("model.bin",), files=("model.bin",)
    ),
    "marian": Format(sign="*.npz", options=("model",), weights=("model.npz", "*.npz")),
    "opennmt_tf": Format(
        sign="ckpt-*.index",
        options=("num_heads", *SOURCE),
        weights=("ckpt-*",),
        beside=(*BESIDE, "checkpoint", "model_description.py"),
    ),
    "tensor2tensor": Format(
        sign="*.ckpt-*.index",
        options=("target_space",),
        weights=("model.ckpt-*",),
        beside=(*BESIDE, "checkpoint", "*.subwords*"),
    ),
    "argos": Format(
        sign="metadata.json",
        keys=("package_version", "argos_version", "from_code", "to_code"),
        options=SOURCE,
        files=("metadata.json",),
    ),
}
CONVERT = (
    "Convert it with CTranslate2's converter ({0}), without --quantization, and import that folder"
)
# {pattern of a file of an unsupported format: what it is, and what to import instead}
HINTS = {
    "dict.*.txt": "a fairseq model. " + CONVERT.format("ct2-fairseq-converter"),
    "*.pt": "a PyTorch model. "
    + CONVERT.format("ct2-fairseq-converter or ct2-opennmt-py-converter"),
    "*.intgemm*.bin": "a quantized model of Marian. Import the model.npz that it was made of",
    "model*.bin": "a binary model of Marian. Import its model.npz",
}


def hint_about(names):
    """Returns what files of an unsupported format are, and what to do; "" for other files."""
    return next((HINTS[pattern] for pattern in HINTS if fnmatch.filter(names, pattern)), "")


def read_model(folder, format=None, **options):
    """Returns the `Imported` model in a folder of another system.

    Args:
        folder: path of the folder.
        format: one of `FORMATS`. If None, the files in the folder determine it.
        **options: options of the format, such as `target_space` for tensor2tensor.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder. Give the folder that holds the model's files")
    if format is not None:
        check_choice("format", format, FORMATS)
    else:
        format = recognized(folder)
    check_options(format, options)
    imported = importlib.import_module(f"t2t_keras.importing.{format}").read(folder, **options)
    compare_pieces(imported, folder)
    return imported


def check_options(format, options):
    if unknown := options.keys() - set(FORMATS[format].options):
        raise ValueError(f"--{min(unknown)} is not for models of the format {format}. Leave it out")


def recognized(folder):
    """Returns the name of the format of a folder."""
    if (folder / "checkpoints").is_dir() or (folder / "averaged.npz").exists():
        raise ValueError(f"{folder} is a run of this package already: use it as it is")
    found = [name for name, format in FORMATS.items() if format.fits(folder)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"{folder} looks like several formats: {', '.join(found)}. Choose one with --format "
            "(in Python: format=…)"
        )
    raise ValueError(f"{folder} holds {nothing_known([path.name for path in folder.iterdir()])}")


def nothing_known(names, format=None):
    """Returns why files are not a model of a format, or of any, after "… holds "."""
    hint = hint_about(names)
    if hint and format is None:
        return hint
    known = ", ".join(FORMATS)
    return (
        f"no model of {format or f'a known format ({known})'}. Its files are: "
        f"{', '.join(sorted(names)[:10]) or 'none'}"
    )
