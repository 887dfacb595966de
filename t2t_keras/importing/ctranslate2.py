"""Model folders of CTranslate2, which can convert models of several systems."""

import re

import numpy as np

from t2t_keras.checks import check_boolean
from t2t_keras.importing.accompanying_files import read_json_file
from t2t_keras.importing.ctranslate2_foreign import refuse_foreign
from t2t_keras.importing.ctranslate2_vocabularies import Vocabularies
from t2t_keras.importing.files import ctranslate2_file
from t2t_keras.importing.imported import Imported, ImportedWeights
from t2t_keras.importing.tensors import Tensors, zeros
from t2t_keras.transformer_config import TransformerConfig

SPECS = ("", "TransformerBase", "TransformerBig", "TransformerSpec")
REVISIONS = range(1, 8)
SEARCH = {"beam": 2, "alpha": 1.0, "penalty": "marian"}  # the defaults of CTranslate2's translator
ACTIVATIONS = ("relu", "gelu_tanh", "swish", "gelu", "gelu_sigmoid")
# Revision 1 has OpenNMT-tf 1's names. These replacements, applied in order, give the current names:
# (stack or "", old, new).
RENAMED = (
    ("", "transformer/", ""),
    ("", ":0", ""),
    ("", "w_embs", "embeddings/weight"),
    ("", "kernel", "weight"),
    ("", "LayerNorm", "layer_norm"),
    ("", "dense", "projection"),
    ("", "conv1d_", "linear_"),
    ("", "conv1d", "linear_0"),
    ("encoder/", "multi_head", "self_attention"),
    ("decoder/", "masked_multi_head", "self_attention"),
    ("decoder/", "multi_head", "attention"),
)


def read(folder, source_begin=None, source_end=None, is_complete=False):
    """Reads a folder of CTranslate2 and returns an `Imported`.

    Args:
        folder: path of the folder with model.bin, the vocabularies and config.json.
        source_begin, source_end: whether the model was trained with a begin token before the
            source, and with an end token after it. If None, the value recorded in the folder is
            used; not all converters record it.
        is_complete: whether the recorded values are known to be right.
    """
    given = {"source_begin": source_begin, "source_end": source_end}
    given = {name: value for name, value in given.items() if value is not None}
    for name, value in given.items():
        check_boolean(name, value)
    return CTranslate2Folder(folder).imported(given, is_complete)


class CTranslate2Folder:
    """A folder written by one of CTranslate2's converters."""

    def __init__(self, folder):
        self.folder = folder
        if not (folder / "model.bin").is_file():
            raise ValueError(f"{folder} has no model.bin, which is part of a model of CTranslate2")
        self.model = ctranslate2_file.CTranslate2File(folder / "model.bin")
        if self.model.spec not in SPECS or self.model.revision not in REVISIONS:
            raise ValueError(
                f"{folder} holds a {self.model.spec} of revision {self.model.revision}, and not "
                f"a Transformer for translation, of revision {REVISIONS[-1]} or earlier"
            )
        self.settings = read_json_file(folder / "config.json", {})
        if self.model.revision == 1:
            self.rename()
        refuse_foreign(folder, self.model, self.settings)
        self.tensors = Tensors(self.model.tensors, self.model.path)

    def rename(self):
        for part in (self.model.tensors, self.model.attributes, self.model.same):
            renamed = {current_name(name): part[name] for name in part}
            part.clear()
            part.update(renamed)

    def attribute(self, stack, name, default):
        """Returns an attribute of a stack. In early revisions, it is an attribute of the model."""
        attributes = self.model.attributes
        return attributes.get(f"{stack}/{name}", attributes.get(name, default))

    def both(self, name, default):
        """Returns an attribute that must be the same in both stacks."""
        values = [self.attribute(stack, name, default) for stack in ("encoder", "decoder")]
        known = [value for value in values if value is not None]
        if any(isinstance(value, str) or not np.isfinite(value) for value in known):
            raise ValueError(
                f"{self.folder}: {name} must be a finite number. Received: {values[0]!r} and "
                f"{values[1]!r}"
            )
        if values[0] != values[1]:
            raise ValueError(
                f"{self.folder}: encoder and decoder must have the same {name}. "
                f"Received: {values[0]} and {values[1]}"
            )
        return values[0]

    def imported(self, given, is_complete):
        facts = self.settings, self.model.attributes
        vocabularies = Vocabularies(self.folder, *facts, given, is_complete)
        name = "encoder/embeddings_0/weight"
        if name not in self.tensors:
            name = "encoder/embeddings/weight"  # the name in earlier revisions
        source = self.tensors.take(name, None, None)
        target = self.tensors.take("decoder/embeddings/weight", None, source.shape[1])
        tied = self.same("decoder/embeddings/weight", "decoder/projection/weight")
        vocabularies.read(source.shape[0], target.shape[0])
        orders, start = vocabularies.orders, vocabularies.start
        shared = self.same(name, "decoder/embeddings/weight") and vocabularies.shared
        if vocabularies.source_begin:  # then source and target both use the begin token's row
            shared = shared and start == vocabularies.source_start

        weights = ImportedWeights()
        config = self.config(source.shape[1], weights)
        config |= {"source_end": vocabularies.source_end, "vocab_size": len(orders["target"])}
        config |= {"tie_output": tied, "output_bias": True}
        if not shared:
            config["source_vocab_size"] = len(orders["source"])
            matrix = orders["source"].input_matrix(source, vocabularies.source_start)
            weights.by_path["source_embedding/matrix"] = matrix
        weights.by_path["embedding/matrix"] = orders["target"].input_matrix(target, start)
        output = self.tensors.take("decoder/projection/weight", *target.shape)
        if not tied:
            weights.by_path["output_embedding/matrix"] = orders["target"].output_matrix(output)
        bias = self.tensors.find("decoder/projection/bias", target.shape[0])
        bias = orders["target"].output_bias(bias)
        weights.by_path[f"{'embedding' if tied else 'output_embedding'}/bias"] = bias
        self.tensors.check_all_used()
        pieces = vocabularies.pieces()
        return Imported(
            f"CTranslate2, version {self.model.version}, revision {self.model.revision}",
            TransformerConfig(**config),
            weights.by_path,
            *pieces,
            search={} if vocabularies.own else SEARCH,
            own_vocabulary=self.folder / "vocabulary" if vocabularies.own else None,
            notes=[*vocabularies.notes, *self.note_about_integers()],
        )

    def note_about_integers(self):
        """Yields a note if weights are stored as integers."""
        if "int8" in self.model.types:
            yield (
                "weights in int8 become float32: each differs from its original by at most 1/254 "
                "of the largest weight in its row. CTranslate2 also computes in int8, so some "
                "translations may differ from its own"
            )
        elif "int16" in self.model.types:
            yield "weights in int16 become float32; each differs slightly from its original"

    def same(self, one, other):
        """Returns whether two names mean the same matrix, or two matrices with equal contents."""
        names, tensors = self.model.same, self.model.tensors
        if one not in names or other not in names:
            return False
        if names[one] == names[other]:
            return True
        one, other = tensors[one], tensors[other]
        return one.shape == other.shape and np.array_equal(one.stored(), other.stored())

    def config(self, d_model, weights):
        """Returns settings of the `TransformerConfig`, and collects the weights of all blocks."""
        heads = 16 if self.model.spec == "TransformerBig" else 8
        heads = int(self.both("num_heads", heads))
        activation = int(self.both("activation", 0))
        if heads < 1:
            raise ValueError(f"{self.folder}: num_heads must be at least 1. Received: {heads}")
        if not 0 <= activation < len(ACTIVATIONS):
            raise ValueError(f"{self.folder}: activation {activation} is not imported")
        pre_norm = bool(self.both("pre_norm", 1))
        self.pre_norm, self.d_model, self.heads = pre_norm, d_model, heads
        widths = [self.blocks(stack, weights) for stack in ("encoder", "decoder")]
        (encoder, d_ff, width), (decoder, *other) = widths
        if [d_ff, width] != other:
            raise ValueError(
                f"{self.folder}: encoder and decoder must have the same widths (d_ff, heads · "
                f"width). Received: {d_ff}, {width} and {other[0]}, {other[1]}"
            )
        epsilon = self.settings.get("layer_norm_epsilon") or 1e-5
        return {
            **{"num_layers": encoder, "d_model": d_model, "d_ff": d_ff, "num_heads": heads},
            **{"d_k": width // heads, "d_v": width // heads},
            **{"activation": ACTIVATIONS[activation], "pre_norm": pre_norm},
            **{"attention_bias": True, "norm_epsilon": epsilon, "dropout": 0.1},
            **{"decoder_layers": decoder, "embedding_scale": self.embedding_scale()},
            **self.positions(weights),
        }

    def embedding_scale(self):
        value = self.both("scale_embeddings", None)
        if value is None:
            value = self.both("embeddings/multiply_by_sqrt_depth", 1)
        if isinstance(value, int):  # a flag
            return None if value else 1.0
        return None if value == self.d_model**0.5 else value

    def positions(self, weights):
        name = "position_encodings/encodings"
        tables = {s: self.tensors.find(f"{s}/{name}", None, None) for s in ("encoder", "decoder")}
        if not any(tables.values()):
            return {"positions": "concatenated", "position_offset": 1}
        if not all(tables.values()):
            raise ValueError(f"{self.folder}: only one of the stacks has positions in {name}")
        shapes = [table.shape for table in tables.values()]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"{self.folder}: encoder and decoder must have equally many positions in {name}. "
                f"Received the shapes: {shapes[0]} and {shapes[1]}"
            )
        weights.by_path["source_positions/table"] = tables["encoder"]
        weights.by_path["target_positions/table"] = tables["decoder"]
        return {"positions": "learned", "max_length": tables["encoder"].shape[0]}

    def blocks(self, stack, weights):
        """Collects a stack's weights; returns (number of blocks, d_ff, heads · head width)."""
        found = (re.match(rf"{stack}/layer_(\d+)/", name) for name in self.model.tensors)
        layers = max((int(match[1]) + 1 for match in found if match), default=0)
        if not layers:
            raise ValueError(f"{self.folder}: the model has no {stack}")
        widths = set()
        for i in range(layers):
            path = f"{stack}/block_{i}"
            width = self.attention(stack, i, "self_attention", f"{path}/self_attention", weights)
            if stack == "decoder":
                self.attention(stack, i, "attention", f"{path}/cross_attention", weights)
            theirs = f"{stack}/layer_{i}/ffn"
            inner = self.tensors.take(f"{theirs}/linear_0/weight", None, self.d_model)
            outer = self.tensors.take(f"{theirs}/linear_1/weight", self.d_model, inner.shape[0])
            biases = [
                self.tensors.take(f"{theirs}/linear_{j}/bias", size)
                for j, size in enumerate((inner.shape[0], self.d_model))
            ]
            kernels = inner.transposed, outer.transposed
            layers_of = zip(kernels, biases, strict=True)
            weights.feed_forward(f"{path}/feed_forward", self.norm(theirs), *layers_of)
            widths.add((inner.shape[0], width))
        if len(widths) > 1:
            raise ValueError(f"{self.folder}: the layers of the {stack} have different widths")
        if self.pre_norm:
            weights.norm(f"{stack}/norm", *self.norm(stack))
        return layers, *widths.pop()

    def norm(self, path):
        return [
            self.tensors.take(f"{path}/layer_norm/{part}", self.d_model)
            for part in ("gamma", "beta")
        ]

    def attention(self, stack, layer, kind, path, weights):
        """Collects the weights of an attention sub-layer; returns heads · head width."""
        theirs = f"{stack}/layer_{layer}/{kind}"
        name = f"{theirs}/linear_{2 if kind == 'attention' else 1}/weight"
        output = self.tensors.take(name, self.d_model, None)
        width = output.shape[1]
        groups = [3] if kind == "self_attention" else [1, 2]
        projections = []
        for j, parts in enumerate(groups):
            rows = parts * width
            kernel = self.tensors.take(f"{theirs}/linear_{j}/weight", rows, self.d_model)
            bias = self.tensors.find(f"{theirs}/linear_{j}/bias", rows) or zeros(rows)
            kernels = (part.transposed for part in kernel.split(parts))
            projections += zip(kernels, bias.split(parts), strict=True)
        if width % self.heads:
            raise ValueError(
                f"{self.folder}: {theirs} has the width {width}, no multiple of {self.heads} heads"
            )
        scale = self.model.attributes.get(f"{theirs}/queries_scale")
        if scale is not None:  # our attention divides scores by √width
            if isinstance(scale, str) or not 0 < scale < float("inf"):
                raise ValueError(
                    f"{self.folder}: queries_scale must be positive. Received: {scale}"
                )
            factor = scale * (width // self.heads) ** 0.5
            if abs(factor - 1) > 1e-6:
                projections[0] = tuple(part.times(factor) for part in projections[0])
        last = len(groups)
        bias = self.tensors.find(f"{theirs}/linear_{last}/bias", self.d_model)
        output = output.transposed, bias or zeros(self.d_model)
        weights.attention(path, self.norm(theirs), *projections, output)
        return width


def current_name(name):
    """Returns the current name of a variable of revision 1."""
    for stack, old, new in RENAMED:
        if stack in name:
            name = name.replace(old, new, 1)
    return name
