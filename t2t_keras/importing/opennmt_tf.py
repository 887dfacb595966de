"""Checkpoints of OpenNMT-tf 2, with vocabularies and model_description.py next to them."""

import re

from t2t_keras.checks import check_boolean, check_integer
from t2t_keras.importing.accompanying_files import (
    find_vocabularies,
    read_lines,
    sentencepiece_fields,
)
from t2t_keras.importing.files.tf_checkpoint import checkpoint_prefix, read_checkpoint
from t2t_keras.importing.ids import Ids
from t2t_keras.importing.imported import Imported, ImportedWeights, Pieces
from t2t_keras.importing.tensors import Tensors
from t2t_keras.transformer_config import TransformerConfig

CHECKPOINTS = "ckpt-*.index"
DESCRIPTION = "model_description.py"
SUFFIXES = (".txt", ".vocab")
SPECIAL = ["<blank>", "<s>", "</s>"]  # ids 0 to 2; the unknown token has the last id
SINUSOIDAL = "SinusoidalPositionEncoder"
NORM_EPSILON = 1e-3  # Keras' default, which OpenNMT-tf does not change
TRAINING = re.compile(r"optimizer/|save_counter$")
SOURCE, TARGET = (
    f"model/examples_inputter/{side}_inputter/embedding" for side in ("features", "labels")
)
# {part of a tensor's name: feature that the paper's model does not have}
FOREIGN = {
    "relative_position_keys": "relative positions",
    "encoders": "several encoders",
    "inputters": "several sources or features",
}
# {model in OpenNMT-tf's catalog: number of heads}
HEADS = {
    **dict.fromkeys(("TransformerBase", "TransformerBaseSharedEmbeddings"), 8),
    **dict.fromkeys(("TransformerBig", "TransformerBigSharedEmbeddings"), 16),
    **dict.fromkeys(("ScalingNmtEnDe", "ScalingNmtEnFr"), 16),
    "TransformerTiny": 2,
}
# "Transformer" is also the base class of all models; it takes the number of heads as an argument.
BASE = re.compile(r"""catalog(\.|\(\s*["'])Transformer\b""")
ACTIVATIONS = {
    "tf.nn.relu": "relu",
    "tf.nn.gelu": "gelu",
    "tf.nn.silu": "swish",
    "tf.nn.swish": "swish",
    "onmt.layers.gelu": "gelu_tanh",
    "opennmt.layers.gelu": "gelu_tanh",
}


def read(folder, num_heads=None, source_begin=False, source_end=False):
    """Reads a folder of OpenNMT-tf and returns an `Imported`.

    Args:
        folder: path of the folder with the checkpoint, the vocabularies and, if it exists,
            model_description.py.
        num_heads: number of heads. Required if model_description.py does not contain it.
        source_begin, source_end: whether the model was trained with <s> before the source, and with
            </s> after it (`source_sequence_controls` in OpenNMT-tf's configuration).
    """
    check_boolean("source_begin", source_begin)
    check_boolean("source_end", source_end)
    return OpenNMTTFFolder(folder).imported(num_heads, source_begin, source_end)


class OpenNMTTFFolder:
    """A folder with a checkpoint of OpenNMT-tf."""

    def __init__(self, folder):
        self.folder = folder
        prefix = checkpoint_prefix(folder, CHECKPOINTS)
        tensors = read_checkpoint(prefix, version=2)
        weights = {name: tensors[name] for name in tensors if not TRAINING.match(name)}
        for name in weights:
            for part in name.split("/"):
                if part in FOREIGN:
                    raise ValueError(
                        f"{prefix} has {FOREIGN[part]} ({name}): it is not the paper's "
                        "Transformer, and is not imported"
                    )
        self.tensors = Tensors(weights, prefix)
        self.pre_norm = "model/encoder/layer_norm/gamma" in weights
        path = folder / DESCRIPTION
        # The description is a program. It is searched for settings and never executed.
        text = path.read_text("utf-8", "replace") if path.exists() else ""
        self.description = re.sub("#.*", "", text)

    def imported(self, num_heads, source_begin, source_end):
        source = self.tensors.take(SOURCE, None, None)
        self.d_model = source.shape[1]
        target = self.tensors.find(TARGET, None, self.d_model) or source
        matrices = {"source": source, "target": target}
        texts, orders = self.vocabularies(matrices), {}
        for side, matrix in matrices.items():
            rows = matrix.shape[0]
            orders[side] = Ids(rows, *range(len(SPECIAL)), unknown=rows - 1)
            texts[side].pieces = orders[side].ordered(texts[side].pieces)
        texts["source"].begin = source_begin
        weights = ImportedWeights()
        config = self.config(weights) | {"num_heads": self.heads(num_heads)}
        config |= {"source_end": source_end, "vocab_size": len(orders["target"])}
        weights.by_path["embedding/matrix"] = orders["target"].input_matrix(target)
        if source is target and texts["source"] == texts["target"]:
            texts["source"] = texts["target"]
        else:
            config["source_vocab_size"] = len(orders["source"])
            weights.by_path["source_embedding/matrix"] = orders["source"].input_matrix(source)
        layer, rows = "model/decoder/output_layer", target.shape[0]
        output = self.tensors.find(f"{layer}/kernel", self.d_model, rows)
        config |= {"tie_output": output is None, "output_bias": True}
        name = "embedding"
        if output is not None:
            name = "output_embedding"
            matrix = orders["target"].output_matrix(output.transposed)
            weights.by_path[f"{name}/matrix"] = matrix
        bias = self.tensors.find(f"{layer}/bias", rows)
        weights.by_path[f"{name}/bias"] = orders["target"].output_bias(bias)
        self.tensors.check_all_used()
        notes = []
        if not self.description:
            notes.append(f"no {DESCRIPTION}: the activation is taken to be ReLU")
        if not (source_begin or source_end):
            notes.append(
                "the source has no <s> and no </s>; for a model that was trained with them "
                "(source_sequence_controls), import with --source_begin, --source_end"
            )
        return Imported(
            "OpenNMT-tf",
            TransformerConfig(**config),
            weights.by_path,
            *texts.values(),
            search={"alpha": 0.0},
            notes=notes,
        )

    def vocabularies(self, matrices):
        """Returns the pieces of each side in OpenNMT-tf's order."""
        expected = (
            "the vocabulary of the model's training as one file vocab.txt, or two with the names "
            "src-vocab.txt and tgt-vocab.txt"
        )
        paths = find_vocabularies(self.folder, SUFFIXES, expected)
        texts = {}
        for side, path in zip(matrices, (paths[0], paths[-1]), strict=True):
            tokens, rows = read_lines(path), matrices[side].shape[0]
            if tokens[: len(SPECIAL)] != SPECIAL:
                raise ValueError(
                    f"{path} must begin with the lines {', '.join(SPECIAL)}, as vocabularies of "
                    f"OpenNMT-tf do. Received: {', '.join(tokens[: len(SPECIAL)])}"
                )
            if len(tokens) + 1 != rows:
                raise ValueError(
                    f"{path} must have {rows - 1:,} tokens, as the {side} matrix has {rows:,} rows "
                    f"and the last is the unknown token's. Received: {len(tokens):,}"
                )
            if len(set(tokens)) != len(tokens):
                raise ValueError(f"a token occurs twice in {path}")
            unknown = "<unk>"
            while unknown in tokens:
                unknown = f"<{unknown}>"
            pieces = [*tokens, unknown]
            texts[side] = Pieces(pieces, **sentencepiece_fields(self.folder, side, pieces))
        return texts

    def heads(self, given):
        """Returns the number of heads, which the checkpoint does not contain."""
        if given is not None:
            check_integer("num_heads", given)
        text = self.description
        found = {int(number) for number in re.findall(r"\bnum_heads\s*=\s*(\d{1,4})\b", text)}
        if not found:
            found = {HEADS[name] for name in re.findall(r"\w+", text) if name in HEADS}
            found |= {8} if BASE.search(text) else set()
        if len(found) == 1 and given not in (None, *found):
            raise ValueError(
                f"{self.folder / DESCRIPTION} says that the model has {found.pop()} heads. "
                f"Received: num_heads={given}"
            )
        if len(found) != 1 and given is None:
            raise ValueError(
                f"{self.folder} does not tell the number of heads, because the checkpoint does "
                f"not contain it and there is no {DESCRIPTION} that names one. Give it with "
                "--num_heads (in Python: num_heads=…): 8 in TransformerBase, 16 in TransformerBig"
            )
        heads = found.pop() if given is None else given
        if not heads or self.d_model % heads:
            raise ValueError(
                f"{self.folder}: the number of heads must be a divisor of the model's width, "
                f"{self.d_model}. Received: num_heads={heads}"
            )
        return heads

    def config(self, weights):
        """Returns settings of the `TransformerConfig`, and collects the weights of all blocks."""
        names = self.tensors.names()
        self.d_ff = None
        layers = []
        for stack in ("encoder", "decoder"):
            numbers = (re.match(rf"model/{stack}/layers/(\d+)/", name) for name in names)
            layers.append(max((int(match[1]) + 1 for match in numbers if match), default=0))
            if not 1 <= layers[-1] <= 1000:
                raise ValueError(
                    f"{self.tensors.origin} is not a Transformer: its {stack} must have from 1 to "
                    f"1,000 layers. Received: {layers[-1]}"
                )
            for i in range(layers[-1]):
                self.block(stack, i, weights)
            if self.pre_norm:
                weights.norm(f"{stack}/norm", *self.norm(f"model/{stack}/layer_norm"))
        return {
            **{"num_layers": layers[0], "decoder_layers": layers[1]},
            **{"d_model": self.d_model, "d_ff": self.d_ff, "dropout": 0.1},
            **{"norm_epsilon": NORM_EPSILON, "pre_norm": self.pre_norm},
            **{"activation": self.activation(), "attention_bias": self.attention_bias},
            **self.positions(weights),
        }

    def activation(self):
        """Returns the activation, which the checkpoint does not contain."""
        names = self.described("ffn_activation") or {"tf.nn.relu"}
        if len(names) > 1 or not names <= ACTIVATIONS.keys():
            raise ValueError(
                f"{self.folder / DESCRIPTION} must have one ffn_activation, out of: "
                f"{', '.join(ACTIVATIONS)}. Received: {', '.join(sorted(names))}"
            )
        return ACTIVATIONS[names.pop()]

    def described(self, name):
        """Returns the values of an argument in the description."""
        found = re.findall(rf"\b{name}\s*=\s*([^\s,)]+)", self.description)
        return set(found) - {name}  # `name=name` only passes the argument to a base class

    def positions(self, weights):
        """Returns settings of the positional encodings, and collects their tables."""
        tables = {
            side: self.tensors.find(f"model/{stack}/position_encoder/embedding", None, self.d_model)
            for side, stack in (("source", "encoder"), ("target", "decoder"))
        }
        if not any(tables.values()):
            for encoder in self.described("position_encoder_class"):
                if not encoder.endswith(SINUSOIDAL):
                    raise ValueError(
                        f"{self.folder / DESCRIPTION} has position_encoder_class={encoder}, and "
                        "the checkpoint has no table of positions. Models are imported with: "
                        f"{SINUSOIDAL}, or a table"
                    )
            return {"positions": "concatenated", "position_offset": 1}
        lengths = {table and table.shape[0] - 1 for table in tables.values()}
        length = lengths.pop()
        if lengths or not length:
            raise ValueError(
                f"{self.tensors.origin} must have two tables of positions of the same length, "
                "position_encoder/embedding in encoder and decoder. Received the lengths: "
                f"{', '.join(str(table.shape[0] if table else 0) for table in tables.values())}"
            )
        # OpenNMT-tf counts positions from 1; row 0 is not used.
        for side, table in tables.items():
            weights.by_path[f"{side}_positions/table"] = table.without_first_row()
        return {"positions": "learned", "max_length": length}

    @property
    def attention_bias(self):
        first = "model/encoder/layers/0/self_attention/layer/linear_queries"
        return f"{first}/bias" in self.tensors

    def block(self, stack, number, weights):
        theirs, path = f"model/{stack}/layers/{number}", f"{stack}/block_{number}"
        kinds = {"self_attention": "self_attention"}
        if stack == "decoder":
            kinds["attention/0"] = "cross_attention"
        for kind, ours in kinds.items():
            layers = [
                self.dense(f"{theirs}/{kind}/layer/linear_{part}", self.attention_bias)
                for part in ("queries", "keys", "values", "output")
            ]
            weights.attention(f"{path}/{ours}", self.sublayer_norm(f"{theirs}/{kind}"), *layers)
        kernel = self.tensors.take(f"{theirs}/ffn/layer/inner/kernel", self.d_model, self.d_ff)
        self.d_ff = kernel.shape[1]
        inner = kernel, self.tensors.take(f"{theirs}/ffn/layer/inner/bias", self.d_ff)
        outer = self.dense(f"{theirs}/ffn/layer/outer", True, self.d_ff)
        norm = self.sublayer_norm(f"{theirs}/ffn")
        weights.feed_forward(f"{path}/feed_forward", norm, inner, outer)

    def dense(self, path, bias, width=None):
        """Returns (kernel, bias or None) of a layer whose output has the model's width."""
        kernel = self.tensors.take(f"{path}/kernel", width or self.d_model, self.d_model)
        return kernel, self.tensors.take(f"{path}/bias", self.d_model) if bias else None

    def sublayer_norm(self, path):
        return self.norm(f"{path}/{'input' if self.pre_norm else 'output'}_layer_norm")

    def norm(self, path):
        return [self.tensors.take(f"{path}/{part}", self.d_model) for part in ("gamma", "beta")]
