"""The formats of trained models that can be imported."""

import fnmatch
import inspect
from pathlib import Path
from typing import NamedTuple

from t2t_keras.checks import check_choice
from t2t_keras.importing import (
    argos,
    ctranslate2,
    hugging_face,
    marian,
    opennmt_tf,
    tensor2tensor,
)
from t2t_keras.importing.common_pieces import compare_pieces

FORMATS = {
    "argos": argos,
    "ctranslate2": ctranslate2,
    "hugging_face": hugging_face,
    "marian": marian,
    "opennmt_tf": opennmt_tf,
    "tensor2tensor": tensor2tensor,
}


class Hint(NamedTuple):
    """The files of an unsupported format, and advice on what to import instead."""

    pattern: str
    advice: str


BY_CTRANSLATE2 = (
    "Convert it with CTranslate2's converter ({0}), without --quantization, and import that folder"
)
OF_PYTORCH = "ct2-fairseq-converter or ct2-opennmt-py-converter"
HINTS = (
    Hint("dict.*.txt", "a fairseq model. " + BY_CTRANSLATE2.format("ct2-fairseq-converter")),
    Hint("*.pt", "a PyTorch model. " + BY_CTRANSLATE2.format(OF_PYTORCH)),
    Hint("*.intgemm*.bin", "a quantized model of Marian. Import the model.npz that it was made of"),
    Hint("model*.bin", "a binary model of Marian. Import its model.npz"),
)


def hint_about(names):
    """Returns what files of an unsupported format are, and what to do; "" for other files."""
    advice = (hint.advice for hint in HINTS if fnmatch.filter(names, hint.pattern))
    return next(advice, "")


def read_model(folder, format=None, **options):
    """Returns the `Imported` model in a folder of another system.

    Args:
        folder: path of the folder.
        format: one of `FORMATS`. If None, the files in the folder determine it.
        **options: options of the format's `read`, such as `target_space` for tensor2tensor.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"{folder} is not a folder. Give the folder that holds the model's files")
    if format is not None:
        check_choice("format", format, FORMATS)
    else:
        format = recognized(folder)
    check_options(format, options)
    imported = FORMATS[format].read(folder, **options)
    compare_pieces(imported, folder)
    return imported


def check_options(format, options):
    """Raises `ValueError` for an option that is not for a format."""
    allowed = inspect.signature(FORMATS[format].read).parameters
    if unknown := options.keys() - allowed.keys():
        raise ValueError(f"--{min(unknown)} is not for models of the format {format}. Leave it out")


def recognized(folder):
    """Returns the name of the format of a folder."""
    if (folder / "checkpoints").is_dir() or (folder / "averaged.npz").exists():
        raise ValueError(f"{folder} is a run of this package already: use it as it is")
    found = [name for name, format in FORMATS.items() if format.is_format(folder)]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(
            f"{folder} looks like several formats: {', '.join(found)}. Choose one with --format "
            "(in Python: format=…)"
        )
    names = sorted(path.name for path in folder.iterdir())
    if hint := hint_about(names):
        raise ValueError(f"{folder} holds {hint}")
    raise ValueError(
        f"{folder} holds no model of a known format ({', '.join(FORMATS)}). Its files are: "
        f"{', '.join(names[:10]) or 'none'}"
    )
