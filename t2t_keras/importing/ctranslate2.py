"""Model folders of CTranslate2, which can convert models of several systems."""

import re

import numpy as np

from t2t_keras.checks import check_boolean
from t2t_keras.importing.accompanying_files import read_json_file
from t2t_keras.importing.converter import STACKS, Converter, Names
from t2t_keras.importing.ctranslate2_vocabularies import Vocabularies
from t2t_keras.importing.files.ctranslate2_file import CTranslate2File
from t2t_keras.importing.settings import require, same_in_both
from t2t_keras.importing.tensors import Tensors

SPECS = ("TransformerBase", "TransformerBig", "TransformerSpec")
REVISIONS = range(2, 8)
SEARCH = {"beam": 2, "alpha": 1.0, "penalty": "marian"}  # the defaults of CTranslate2's translator
ACTIVATIONS = ("relu", "gelu_tanh", "swish", "gelu", "gelu_sigmoid")
# Names of scalars that the importer reads, or that do not affect the paper's model.
KNOWN = re.compile(
    r"(.*/)?(num_heads|pre_norm|activation|scale_embeddings|multiply_by_sqrt_depth|queries_scale"
    r"|start_from_zero_embedding|alignment_layer|alignment_heads|embeddings_merge"
    r"|alibi_use_positive_positions|scale_alibi"
    r"|with_(source|target)_(bos|eos)|(bos|eos|unk)_token)"
)
# {(attention, number of its linear layer): the projections that it joins}
PROJECTIONS = {
    ("self_attention", "0"): ("query", "key", "value"),
    ("self_attention", "1"): ("output",),
    ("attention", "0"): ("query",),
    ("attention", "1"): ("key", "value"),
    ("attention", "2"): ("output",),
}
LINEAR = re.compile(r"(.*/(self_attention|attention))/linear_(\d+)/(weight|bias)")
NAMES = Names(
    block="{stack}/layer_{number}",
    attentions=("self_attention", "attention"),
    projections=tuple(
        f"{{block}}/{{attention}}/{part}/{{part}}" for part in ("query", "key", "value", "output")
    ),
    network=("{block}/ffn/linear_0/{part}", "{block}/ffn/linear_1/{part}"),
    norms=(
        "{block}/{attention}/layer_norm/{part}",
        "{block}/ffn/layer_norm/{part}",
        "{stack}/layer_norm/{part}",
    ),
    dense=("weight", "bias"),
    transposed=True,
)
TARGET, OUTPUT = "decoder/embeddings/weight", "decoder/projection/weight"


def read(folder, source_begin=None, source_end=None, package=None):
    """Reads a folder of CTranslate2 and returns an `Imported`.

    Args:
        folder: path of the folder with model.bin, the vocabularies and config.json.
        source_begin, source_end: whether the model was trained with a begin token before the
            source, and with an end token after it. If None, the value recorded in the folder is
            used; not all converters record it.
        package: folder of the Argos package around the folder, whose SentencePiece model is used,
            and whose recorded values are known to be right. None: no package.
    """
    given = {"source_begin": source_begin, "source_end": source_end}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        check_boolean(name, value)
    return CTranslate2Folder(folder).imported(given, package)


class CTranslate2Folder:
    """A folder written by one of CTranslate2's converters."""

    def __init__(self, folder):
        self.folder = folder
        if not (folder / "model.bin").is_file():
            raise ValueError(f"{folder} has no model.bin, which is part of a model of CTranslate2")
        self.model = CTranslate2File(folder / "model.bin")
        if self.model.spec not in SPECS or self.model.revision not in REVISIONS:
            raise ValueError(
                f"{folder} holds a {self.model.spec} of revision {self.model.revision}, and not "
                f"a Transformer for translation, of revisions {REVISIONS[0]} to {REVISIONS[-1]}"
            )
        self.settings = read_json_file(folder / "config.json", {})
        self.refuse_foreign()
        default = 16 if self.model.spec == "TransformerBig" else 8
        self.heads = self.both("num_heads", default)
        self.tensors = Tensors(self.projections(), self.model.path)

    def refuse_foreign(self):
        """Raises `ValueError` for settings that the paper's Transformer does not have.

        Its tensors are checked when all others are used.
        """
        on = {name: value for name, value in self.model.attributes.items() if is_on(name, value)}
        if unknown := [name for name in on if not KNOWN.fullmatch(name)]:
            raise ValueError(
                f"{self.folder} has settings that the paper's Transformer does not have, so it is "
                f"not imported: {', '.join(unknown[:8])}"
            )
        if kind := self.settings.get("quantization_type"):
            raise ValueError(
                f"{self.folder}/config.json has quantization_type={kind}: such a model is not "
                "imported. Convert the model again without --quantization"
            )

    def projections(self):
        """Returns {name: `Tensor`}, in which each projection of attention has its own name."""
        tensors = {}
        for name, tensor in self.model.tensors.items():
            match = LINEAR.fullmatch(name)
            parts = PROJECTIONS.get(match.group(2, 3)) if match else None
            if not parts:
                tensors[name] = tensor
                continue
            for part, piece in zip(parts, tensor.split(len(parts)), strict=True):
                if part == "query":
                    piece = self.scaled(piece, match[1])
                tensors[f"{match[1]}/{part}/{match[4]}"] = piece
        return tensors

    def scaled(self, query, attention):
        """Returns the kernel or the bias of a query; our attention divides scores by √width."""
        scale = self.model.attributes.get(f"{attention}/queries_scale")
        if scale is None:
            return query
        if isinstance(scale, str) or not 0 < scale < float("inf"):
            raise ValueError(f"{self.folder}: queries_scale must be positive. Received: {scale}")
        factor = scale * (query.shape[0] // max(1, self.heads)) ** 0.5
        return query.times(factor) if abs(factor - 1) > 1e-6 else query

    def both(self, name, default):
        """Returns an attribute that must be the same in both stacks.

        In early revisions, it is an attribute of the model.
        """
        attributes = self.model.attributes
        shared = attributes.get(name, default)
        values = [attributes.get(f"{stack}/{name}", shared) for stack in STACKS]
        for value in values:
            if isinstance(value, str) or (value is not None and not np.isfinite(value)):
                raise ValueError(
                    f"{self.folder}: {name} must be a finite number. Received: {value!r}"
                )
        return same_in_both(self.folder, name, values)

    def imported(self, given, package):
        name = "encoder/embeddings_0/weight"
        if name not in self.tensors:
            name = "encoder/embeddings/weight"  # the name in earlier revisions
        source = self.tensors.take(name, None, None)
        d_model = source.shape[1]
        target = self.tensors.take(TARGET, None, d_model)
        output = self.tensors.take(OUTPUT, *target.shape)
        matrices = [target if target.equals(each) else each for each in (source, target, output)]
        facts = self.settings, self.model.attributes
        vocabularies = Vocabularies(self.folder, *facts, given, package, matrices)
        converter = Converter(self.tensors, NAMES, optional=True)
        converter.blocks(d_model, self.heads, bool(self.both("pre_norm", 1)))
        bias = self.tensors.find("decoder/projection/bias", target.shape[0])
        starts = vocabularies.start, vocabularies.source_start
        converter.embeddings(matrices, vocabularies.texts, bias, *starts)
        tables = [f"{stack}/position_encodings/encodings" for stack in STACKS]
        converter.positions(tables, offset=1)
        activation = self.both("activation", 0)
        require(self.folder, "activation", activation, range(len(ACTIVATIONS)))
        imported = converter.imported(
            f"CTranslate2, version {self.model.version}, revision {self.model.revision}",
            {} if vocabularies.own else SEARCH,
            activation=ACTIVATIONS[int(activation)],
            norm_epsilon=self.settings.get("layer_norm_epsilon") or 1e-5,
            embedding_scale=self.embedding_scale(d_model),
            source_end=vocabularies.source_end,
        )
        imported.own_vocabulary = self.folder / "vocabulary" if vocabularies.own else None
        imported.notes = vocabularies.notes
        if stored := self.model.types & {"int8", "int16"}:
            imported.notes.append(
                f"weights in {min(stored)} become float32 and differ slightly from the original "
                "ones; CTranslate2 also computes with integers, so its translations may differ"
            )
        return imported

    def embedding_scale(self, d_model):
        """Returns the factor of the embeddings, or None for √d_model."""
        value = self.both("scale_embeddings", None)
        if value is None:
            value = self.both("embeddings/multiply_by_sqrt_depth", 1)
        if isinstance(value, int):  # a flag
            return None if value else 1.0
        return None if value == d_model**0.5 else value


def is_on(name, value):
    """Returns whether an attribute switches its feature on."""
    if name.endswith("/rotary_dim"):  # 0 means all dimensions, -1 none
        return isinstance(value, str) or value >= 0
    return bool(value)
