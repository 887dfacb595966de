"""Writes packages as Argos Translate's training program packs them."""

import json
import shutil

import numpy as np
from support.importing.ctranslate2_folder import random_model, write_folder, write_vocabulary
from support.importing.small_sentencepiece import pieces_of, unigram_model

NAME = "translate-en_pb-1_0"
METADATA = {
    **{"package_version": "1.0", "argos_version": "1.0", "license": "CC0"},
    **{"from_code": "en", "from_name": "English", "to_code": "pb", "to_name": "Portuguese"},
}
SPECIAL = ["<unk>", "<blank>", "<s>", "</s>"]  # as in OpenNMT-py


def write_package(folder, metadata=METADATA, model=None, int8=False):
    """Writes an unpacked package with one vocabulary, and returns its folder."""
    spm = unigram_model(160)
    tokens = [*SPECIAL, *(piece for piece in pieces_of(spm) if piece not in SPECIAL)]
    variables = random_model(source=len(tokens), target=len(tokens))
    variables["decoder/projection/weight"][[1, 2]] = 0
    variables["decoder/projection/bias"][[1, 2]] = -1e4
    variables = quantized(variables) if int8 else variables
    package = folder / NAME
    inner = write_folder(package / "model", variables, revision=3)
    for side in ("source", "target"):
        (inner / f"{side}_vocabulary.txt").unlink()
    write_vocabulary(inner / "shared_vocabulary.json", tokens)
    (inner / "config.json").write_text(json.dumps({"unk_token": "<unk>", "add_source_eos": False}))
    (package / "sentencepiece.model").write_bytes(spm if model is None else model)
    (package / "metadata.json").write_text(json.dumps(metadata))
    (package / "README.md").write_text("# English-Portuguese\n\nCredits.\n")
    return package


def quantized(variables):
    """Stores matrices in int8 with a scale for each row."""
    result = {}
    for name, array in variables.items():
        if array.ndim == 2:
            scale = 127 / np.abs(array).max(axis=1).clip(1e-9)
            result[f"{name}_scale"] = scale.astype("float32")
            array = np.rint(array * scale[:, None]).astype("int8")
        result[name] = array
    return result


def pack(package, path):
    """Writes a package file of an unpacked package, and returns its path."""
    return shutil.move(shutil.make_archive(str(path), "zip", package.parent, package.name), path)
