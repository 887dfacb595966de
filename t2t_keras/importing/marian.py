"""Marian's models: model.npz, which includes the settings, and vocabularies next to it."""

import dataclasses
from pathlib import Path

import yaml

from t2t_keras.checks import check_boolean, check_integer, check_not_negative
from t2t_keras.importing.accompanying_files import find_vocabularies
from t2t_keras.importing.converter import SIDES, Converter, Names
from t2t_keras.importing.files.npz_file import read_npz
from t2t_keras.importing.files.whole_file import reading
from t2t_keras.importing.marian_vocabulary import SUFFIXES, read_vocabulary
from t2t_keras.importing.sentencepiece_models import sentencepiece_fields
from t2t_keras.importing.settings import Settings, require
from t2t_keras.importing.tensors import Tensors

SETTINGS = "special:model.yml"
ACTIVATIONS = ("swish", "relu", "gelu")
# {(transformer-preprocess, -postprocess, -postprocess-top), without dropout: whether pre-norm}
NORMS = {("", "an", ""): False, ("n", "a", "n"): True}
# {setting: values of the paper's model, with the default first}. Other values are rejected.
REQUIRED = {
    "type": ("transformer",),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-postprocess-emb": ("d", ""),
    "transformer-ffn-activation": ACTIVATIONS,
    "transformer-ffn-depth": (2,),
    "transformer-decoder-ffn-depth": (0, 2),
    "transformer-attention-mask": ("default",),
    "lemma-dim-emb": (0,),
    "transformer-no-projection": (False,),
    "transformer-pool": (False,),
    "transformer-disable-position-embeddings": (False,),
    "ulr": (False,),
    "right-left": (False,),
}
NAMES = Names(
    block="{stack}_l{number}",
    attentions=("self", "context"),
    projections=tuple(f"{{block}}_{{attention}}_{{part}}{letter}" for letter in "qkvo"),
    network=("{block}_ffn_{part}1", "{block}_ffn_{part}2"),
    norms=(
        "{block}_{attention}_Wo_ln_{part}{place}",
        "{block}_ffn_ffn_ln_{part}{place}",
        "{stack}_top_ln_{part}",
    ),
    dense=("W", "b"),
    norm=("scale", "bias"),
    first=1,
)
OUTPUTS = "decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W"  # the second in early versions


def read(folder, model=None):
    """Reads a folder with a model of Marian and returns an `Imported`.

    `model` is the .npz file's path. None: the file that decoder.yml names, or the only one.
    """
    return MarianFolder(folder, model).imported()


class MarianFolder:
    """A folder with a model.npz, vocabularies, and often a decoder.yml that names them."""

    def __init__(self, folder, model=None):
        self.folder = folder
        self.decoder = self.decoder_settings()
        path = model or self.model_path()
        tensors = read_npz(path)
        if SETTINGS not in tensors:
            raise ValueError(f"{path} is not a model of Marian: it has no {SETTINGS}")
        text = tensors.pop(SETTINGS).stored().tobytes().rstrip(b"\0")
        self.settings = read_yaml(text, f"{SETTINGS} in {path}")
        # Marian stores vectors as [1, size].
        tensors = {
            name: tensor.reshaped(*tensor.shape[1:]) if tensor.shape[:1] == (1,) else tensor
            for name, tensor in tensors.items()
        }
        self.tensors = Tensors(tensors, path)
        self.refuse_foreign()

    def decoder_settings(self):
        if not (path := self.only("decoder.yml", self.folder.glob("*decoder.yml"))):
            return Settings({}, "decoder.yml")
        return read_yaml(path.read_bytes(), path)

    def only(self, name, paths):
        """Returns the path with this name, the only path, or None if there is none."""
        found = sorted(paths)
        found = [path for path in found if path.name == name] or found
        if len(found) > 1:
            raise ValueError(
                f"{self.folder} must have one file {name}. It has: "
                f"{', '.join(path.name for path in found)}"
            )
        return found[0] if found else None

    def model_path(self):
        named = strings(self.decoder, "models")
        if len(named) > 1:
            raise ValueError(
                f"{self.decoder.origin} names several models, an ensemble. Import each of them "
                f"alone, with one in `models`: {', '.join(named)}"
            )
        if named:
            return self.file(named[0])
        paths = (p for p in self.folder.glob("*.npz") if not p.name.endswith(".optimizer.npz"))
        if not (path := self.only("model.npz", paths)):
            raise ValueError(f"{self.folder} has no .npz file, which is part of a model of Marian")
        return path

    def file(self, name):
        """Returns the path of a file that decoder.yml names. It must be in this folder."""
        path = self.folder / Path(name).name
        if not path.is_file():
            raise ValueError(f"{self.decoder.origin} names {name}, and {path} does not exist")
        return path

    def refuse_foreign(self):
        settings = self.settings
        for name, allowed in REQUIRED.items():
            require(settings.origin, name, settings.get(name, allowed[0]), allowed)
        operations = [
            str(settings.get(f"transformer-{name}", "")).replace("d", "")
            for name in ("preprocess", "postprocess", "postprocess-top")
        ]
        if tuple(operations) not in NORMS:
            raise ValueError(
                f"{settings.origin}: transformer-preprocess, -postprocess and -postprocess-top "
                "must be '', 'dan' and '' (post-norm), or 'n', 'da' and 'n' (pre-norm). Received: "
                f"{', '.join(map(repr, operations))}, without d"
            )
        self.pre_norm = NORMS[tuple(operations)]
        if len(settings.checked(check_list, "dim-vocabs", [])) > 2:
            raise ValueError(f"{settings.origin}: models with several sources are not imported")

    def imported(self):
        settings = self.settings
        matrices = self.matrices()
        source, target, output = matrices
        texts, notes = self.vocabularies(source, target)
        no_bias = self.flag("transformer-no-bias") or self.flag("transformer-no-affine")
        place = "_pre" if self.pre_norm else ""
        converter = Converter(self.tensors, NAMES, optional=no_bias, place=place)
        tied = settings.checked(check_list, "transformer-tied-layers", [])
        heads = settings.checked(check_integer, "transformer-heads", 8)
        converter.blocks(target.shape[1], heads, self.pre_norm, numbers=tied)
        take = self.tensors.find if self.flag("output-omit-bias") else self.tensors.take
        converter.embeddings(matrices, texts, take("decoder_ff_logit_out_b", output.shape[0]))
        learned = converter.positions(["Wpos", "Wpos"])
        return converter.imported(
            "Marian",
            self.search(),
            notes,
            activation=settings.get("transformer-ffn-activation", ACTIVATIONS[0]),
            norm_epsilon=1e-6,
            # With learned positions, Marian does not multiply embeddings by √d_model.
            embedding_scale=1.0 if learned else None,
        )

    def flag(self, name):
        return self.settings.checked(check_boolean, name, False)

    def matrices(self):
        """Returns the matrices of source, target and output. Tied matrices are the same object."""
        take, flag = self.tensors.take, self.flag
        tied_all = flag("tied-embeddings-all")
        if tied_all or flag("tied-embeddings-src"):
            source = target = take("Wemb", None, None)
        else:
            source, target = take("encoder_Wemb", None, None), take("decoder_Wemb", None, None)
        if tied_all or flag("tied-embeddings"):
            return source, target, target
        new, old = OUTPUTS
        if old in self.tensors:
            return source, target, take(old, *target.shape[::-1]).transposed
        return source, target, take(new, *target.shape)

    def vocabularies(self, *matrices):
        """Returns the `Pieces` of source and target, and notes for the user."""
        named = strings(self.decoder, "vocabs")
        paths = [self.file(name) for name in named]
        if not named:
            expected = (
                "one file vocab.yml (or .spm, .json, .txt), two with the names vocab.source.yml "
                "and vocab.target.yml, or a decoder.yml that lists them under `vocabs`"
            )
            paths = find_vocabularies(self.folder, SUFFIXES, expected)
        read = {path: read_vocabulary(path) for path in paths}
        texts, notes = [], []
        for side, path, matrix in zip(SIDES, (paths[0], paths[-1]), matrices, strict=True):
            vocabulary, rows = read[path], matrix.shape[0]
            note = (
                f"the {side} vocabulary has {len(vocabulary.names):,} tokens, and the matrix "
                f"{rows:,} rows; check that it belongs to the model"
            )
            if len(vocabulary.names) < rows // 2 or max(vocabulary.end, vocabulary.unknown) >= rows:
                raise ValueError(
                    f"{self.folder}: {note}. </s> has the id {vocabulary.end:,} and <unk> "
                    f"{vocabulary.unknown:,}"
                )
            if len(vocabulary.names) != rows:
                notes.append(note)
            text = vocabulary.pieces(rows)
            if text.model is None:
                fields = sentencepiece_fields(self.folder, side, text.pieces)
                text = dataclasses.replace(text, **fields)
            texts.append(text)
        return texts, notes

    def search(self):
        """Returns changes to the `SearchConfig`. Marian's default is no length penalty."""
        setting = self.decoder.checked
        alpha = setting(check_not_negative, "normalize", 0.0)
        search = {"alpha": float(alpha), "penalty": "marian"}
        if not setting(check_boolean, "allow-unk", False):
            search["banned"] = (3,)
        if beam := setting(check_integer, "beam-size", 0, at_least=0):
            search["beam"] = beam
        return search


def read_yaml(text, origin):
    """Returns the `Settings` in the contents of a YAML file."""
    with reading(origin, "YAML file"):
        values = yaml.safe_load(text)
    return Settings(values if isinstance(values, dict) else {}, origin)


def strings(settings, name):
    """Returns a setting as a list of strings: none, one or several."""
    value = settings.get(name, [])
    return [str(each) for each in (value if isinstance(value, list) else [value]) if each]


def check_list(name, value):
    if not isinstance(value, list):
        raise ValueError(f"`{name}` must be a list. Received: {name}={value!r}")
