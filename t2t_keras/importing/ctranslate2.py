"""Folders of CTranslate2, to which the converters of several systems lead."""

import re

import numpy as np

from t2t_keras.importing import ctranslate2_file
from t2t_keras.importing.ids import ABSENT, Ids
from t2t_keras.importing.imported import Imported, Pieces, Weights
from t2t_keras.importing.json_file import read_json_file
from t2t_keras.importing.tensors import Tensors, zeros
from t2t_keras.transformer_config import TransformerConfig

SPECS = ("", "TransformerBase", "TransformerBig", "TransformerSpec")
REVISIONS = range(1, 8)
ACTIVATIONS = ("relu", "gelu_tanh", "swish", "gelu", "gelu_sigmoid")
PADDING_TOKENS = ("<blank>", "<pad>", "<padding>", "[PAD]")
# Variables of models that are not the paper's.
FOREIGN = {
    "relative_position_keys": "relative positions",
    "relative_attention_bias": "relative positions",
    "relative_left_max_position": "relative positions",
    "rotary_dim": "rotary positions (RoPE)",
    "alibi": "ALiBi",
    "linear_0_noact": "gated linear units",
    "q_norm": "norms of queries and keys",
    "layernorm_embedding": "a norm of the embeddings",
    "project_in": "projections of the embeddings",
    "project_out": "projections of the embeddings",
    "sliding_window": "a sliding window",
    "scale_outputs": "scaled outputs",
    "final_logit_softcapping": "capped logits",
    "weight_zero": "AWQ quantization",
    "embeddings_1": "several sources or factors",
    "num_heads_kv": "multi-query attention",
}
# The names of revision 1, which are those of OpenNMT-tf 1: (stack or "", old, new), in this order.
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


def is_format(folder):
    return (folder / "model.bin").exists()


def read(folder):
    """Reads a folder of CTranslate2 and returns an `Imported`."""
    return Folder(folder).imported()


class Folder:
    """A folder that CTranslate2's converters wrote."""

    def __init__(self, folder):
        self.folder = folder
        self.model = ctranslate2_file.Model(folder / "model.bin")
        if self.model.spec not in SPECS or self.model.revision not in REVISIONS:
            raise ValueError(
                f"{folder} holds a {self.model.spec} of revision {self.model.revision}, and not "
                f"a Transformer for translation, of revision {REVISIONS[-1]} or earlier"
            )
        self.settings = read_json_file(folder / "config.json", {})
        if self.model.revision == 1:
            self.rename()
        self.refuse_foreign()
        self.tensors = Tensors(self.model.tensors, self.model.path)

    def rename(self):
        for part in (self.model.tensors, self.model.attributes, self.model.same):
            renamed = {current_name(name): part[name] for name in part}
            part.clear()
            part.update(renamed)

    def refuse_foreign(self):
        names = [*self.model.tensors, *(n for n, on in self.model.attributes.items() if on)]
        for name in names:
            for part in name.split("/"):
                if part in FOREIGN:
                    raise ValueError(
                        f"{self.folder} has {FOREIGN[part]} ({name}): it is not the paper's "
                        "Transformer, and is not imported"
                    )
        for name in ("quantization_type", "multi_query_attention"):
            if self.settings.get(name):
                raise ValueError(
                    f"{self.folder}/config.json has {name}={self.settings[name]}: such a model is "
                    "not imported. Convert it again without"
                )

    def attribute(self, stack, name, default):
        """Returns an attribute of a stack; those of early revisions belong to the model."""
        attributes = self.model.attributes
        return attributes.get(f"{stack}/{name}", attributes.get(name, default))

    def both(self, name, default):
        """Returns an attribute that both stacks must have in common."""
        values = [self.attribute(stack, name, default) for stack in ("encoder", "decoder")]
        if values[0] != values[1]:
            raise ValueError(
                f"{self.folder}: encoder and decoder must have the same {name}. "
                f"Received: {values[0]} and {values[1]}"
            )
        return values[0]

    def imported(self):
        take, find = self.tensors.take, self.tensors.find
        source = find("encoder/embeddings_0/weight", None, None)
        source = source or take("encoder/embeddings/weight", None, None)
        target = take("decoder/embeddings/weight", None, source.shape[1])
        output = take("decoder/projection/weight", target.shape[0], target.shape[1])
        bias = find("decoder/projection/bias", target.shape[0])
        vocabularies = self.vocabularies(source.shape[0], target.shape[0])
        shared = self.same("encoder/embeddings_0/weight", "decoder/embeddings/weight") or self.same(
            "encoder/embeddings/weight", "decoder/embeddings/weight"
        )
        shared = shared and vocabularies["source"] == vocabularies["target"]
        tied = self.same("decoder/embeddings/weight", "decoder/projection/weight")
        special = self.special_tokens()
        orders = {side: order_of(pieces, special) for side, pieces in vocabularies.items()}
        weights = Weights()
        config = self.config(source.shape[1], weights)
        config |= {"vocab_size": len(orders["target"]), "tie_output": tied, "output_bias": True}
        if not shared:
            config["source_vocab_size"] = len(orders["source"])
            weights.by_path["source_embedding/matrix"] = orders["source"].input_matrix(source)
        start = self.start(vocabularies["target"], special)
        matrix = orders["target"].input_matrix(target, start)
        weights.by_path["embedding/matrix"] = matrix
        if not tied:
            weights.by_path["output_embedding/matrix"] = orders["target"].output_matrix(output)
        name = "embedding" if tied else "output_embedding"
        weights.by_path[f"{name}/bias"] = orders["target"].output_bias(bias)
        self.tensors.check_all_used()
        texts = {
            side: Pieces(orders[side].ordered(pieces)) for side, pieces in vocabularies.items()
        }
        texts["source"].begin = bool(self.text_setting("add_source_bos", "with_source_bos", 0))
        self.add_sentencepiece(texts)
        if shared and not texts["source"].begin and texts["source"] == texts["target"]:
            texts["source"] = texts["target"]
        else:
            config.setdefault("source_vocab_size", len(orders["source"]))
            weights.by_path.setdefault("source_embedding/matrix", matrix)
        return Imported(
            f"CTranslate2, version {self.model.version}, revision {self.model.revision}",
            TransformerConfig(**config),
            weights.by_path,
            texts["source"],
            texts["target"],
            search={},
        )

    def same(self, one, other):
        """Returns whether two matrices are one, by name or by contents."""
        names, tensors = self.model.same, self.model.tensors
        if one not in names or other not in names:
            return False
        if names[one] == names[other]:
            return True
        one, other = tensors[one], tensors[other]
        return one.shape == other.shape and np.array_equal(one.read(), other.read())

    def config(self, d_model, weights):
        """Returns settings of the `TransformerConfig`, and collects the weights of all blocks."""
        heads = 16 if self.model.spec == "TransformerBig" else 8
        heads = int(self.both("num_heads", heads))
        activation = int(self.both("activation", 0))
        if activation >= len(ACTIVATIONS):
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
        end = self.text_setting("add_source_eos", "with_source_eos", 0)
        return {
            **{"num_layers": encoder, "d_model": d_model, "d_ff": d_ff, "num_heads": heads},
            **{"d_k": width // heads, "d_v": width // heads},
            **{"activation": ACTIVATIONS[activation], "pre_norm": pre_norm},
            **{"attention_bias": True, "norm_epsilon": epsilon, "dropout": 0.1},
            **{"decoder_layers": decoder, "embedding_scale": self.embedding_scale()},
            **{"source_end": bool(end), **self.positions(weights)},
        }

    def text_setting(self, name, old_name, default):
        """Returns a setting that version 6 stores in config.json, and older ones in the model."""
        return self.settings.get(name, self.model.attributes.get(old_name, default))

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
        if not all(tables.values()) or len({table.shape for table in tables.values()}) > 1:
            raise ValueError(f"{self.folder}: only one of the stacks has positions in {name}")
        weights.by_path["source_positions/table"] = tables["encoder"]
        weights.by_path["target_positions/table"] = tables["decoder"]
        return {"positions": "learned", "max_length": tables["encoder"].shape[0]}

    def blocks(self, stack, weights):
        """Collects the weights of a stack; returns its number of blocks, d_ff and heads · width."""
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
        """Collects the weights of an attention sub-layer; returns heads · width."""
        theirs = f"{stack}/layer_{layer}/{kind}"
        output = self.tensors.take(f"{theirs}/linear_{2 if kind == 'attention' else 1}/weight")
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
        if scale is not None:  # ours divides scores by √width
            factor = scale * (width // self.heads) ** 0.5
            if abs(factor - 1) > 1e-6:
                projections[0] = tuple(part.times(factor) for part in projections[0])
        last = len(groups)
        bias = self.tensors.find(f"{theirs}/linear_{last}/bias", self.d_model)
        output = output.transposed, bias or zeros(self.d_model)
        weights.attention(path, self.norm(theirs), *projections, output)
        return width

    def special_tokens(self):
        """Returns the names of the tokens begin, end and unknown."""
        defaults = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
        attributes = {"unk_token": self.model.attributes.get("unk_token")}
        return {
            name: self.settings.get(name) or attributes.get(name) or default
            for name, default in defaults.items()
        }

    def start(self, pieces, special):
        """Returns the id whose row the decoder starts from, or `ABSENT` for a vector of zeros."""
        if self.attribute("decoder", "start_from_zero_embedding", 0):
            return ABSENT
        token = self.settings.get("decoder_start_token")
        if token is None:
            begins = self.model.attributes.get("with_target_bos", 1)
            token = special["bos_token" if begins else "eos_token"]
        if token not in pieces:
            raise ValueError(
                f"{self.folder}: the decoder starts from {token!r}, which is not in the vocabulary"
            )
        return pieces.index(token)

    def vocabularies(self, source_size, target_size):
        """Returns the tokens of each side in the order of their ids."""
        unknown = self.special_tokens()["unk_token"]
        result = {}
        for side, size in (("source", source_size), ("target", target_size)):
            for name in (f"{side}_vocabulary", "shared_vocabulary"):
                pieces = self.vocabulary_file(name)
                if pieces is not None:
                    break
            else:
                raise ValueError(
                    f"{self.folder} has no vocabulary: neither {side}_vocabulary.json nor "
                    "shared_vocabulary.json, nor the same with .txt"
                )
            if len(pieces) == size - 1 and unknown not in pieces:
                pieces.append(unknown)
            if len(pieces) != size:
                raise ValueError(
                    f"{self.folder}: the {side} vocabulary has {len(pieces):,} tokens, and the "
                    f"matrix of the {side} {size:,} rows"
                )
            if len(set(pieces)) != len(pieces):
                raise ValueError(f"{self.folder}: the {side} vocabulary has a token twice")
            result[side] = pieces
        return result

    def vocabulary_file(self, name):
        pieces = read_json_file(self.folder / f"{name}.json", None, kind=list)
        if pieces is None and (self.folder / f"{name}.txt").exists():
            text = (self.folder / f"{name}.txt").read_text(encoding="utf-8")
            pieces = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
        if pieces is not None and not all(isinstance(piece, str) for piece in pieces):
            raise ValueError(f"{self.folder}/{name}.json must be a list of strings")
        return pieces

    def add_sentencepiece(self, texts):
        """Sets the SentencePiece models that stand beside the model."""
        for side, text in texts.items():
            names = f"{side}.spm", f"{side}.model", "sentencepiece.model", "spm.model"
            found = [self.folder / name for name in names if (self.folder / name).exists()]
            if found:
                text.kind, text.model = "sentencepiece", found[0].read_bytes()


def current_name(name):
    """Returns the name of a variable of revision 1 in later revisions."""
    for stack, old, new in RENAMED:
        if stack in name:
            name = name.replace(old, new, 1)
    return name


def order_of(pieces, special):
    """Returns the `Ids` of a vocabulary."""

    def index(name):
        return pieces.index(name) if name in pieces else ABSENT

    padding = next((index(name) for name in PADDING_TOKENS if name in pieces), ABSENT)
    begin, end, unknown = (index(special[f"{name}_token"]) for name in ("bos", "eos", "unk"))
    if end == ABSENT:
        raise ValueError(f"the vocabulary has no token for the end, {special['eos_token']!r}")
    return Ids(len(pieces), padding, begin, end, unknown)
