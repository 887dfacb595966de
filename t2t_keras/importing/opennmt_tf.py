"""Checkpoints of OpenNMT-tf 2, with vocabularies and model_description.py next to them."""

import re

from t2t_keras.checks import check_boolean, check_integer
from t2t_keras.importing.accompanying_files import find_vocabularies, read_lines
from t2t_keras.importing.converter import SIDES, STACKS, Converter, Names
from t2t_keras.importing.files.tf_checkpoint import checkpoint_prefix, read_checkpoint
from t2t_keras.importing.ids import Ids
from t2t_keras.importing.sentencepiece_models import sentencepiece_fields
from t2t_keras.importing.settings import require
from t2t_keras.importing.tensors import Tensors

CHECKPOINTS = "ckpt-*.index"
DESCRIPTION = "model_description.py"
SUFFIXES = (".txt", ".vocab")
SPECIAL = ["<blank>", "<s>", "</s>"]  # ids 0 to 2; the unknown token has the last id
SINUSOIDAL = "SinusoidalPositionEncoder"
TRAINING = re.compile(r"optimizer/|save_counter$")
SOURCE, TARGET = (
    f"model/examples_inputter/{side}_inputter/embedding" for side in ("features", "labels")
)
OUTPUT = "model/decoder/output_layer"
FIRST = "model/encoder/layers/0/self_attention/layer"  # an attention that every model has
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


NAMES = Names(
    block="model/{stack}/layers/{number}",
    attentions=("self_attention", "attention/0"),
    projections=tuple(
        f"{{block}}/{{attention}}/layer/linear_{part}/{{part}}"
        for part in ("queries", "keys", "values", "output")
    ),
    network=("{block}/ffn/layer/inner/{part}", "{block}/ffn/layer/outer/{part}"),
    norms=(
        "{block}/{attention}/{place}_layer_norm/{part}",
        "{block}/ffn/{place}_layer_norm/{part}",
        "model/{stack}/layer_norm/{part}",
    ),
)


def read(folder, num_heads=None, source_begin=False, source_end=False):
    """Reads a folder of OpenNMT-tf and returns an `Imported`.

    Args:
        folder: path of the folder with the checkpoint, the vocabularies and, if it exists,
            model_description.py.
        num_heads: number of heads. Required if model_description.py does not contain it.
        source_begin, source_end: whether the model was trained with <s> before the source, and with
            </s> after it (`source_sequence_controls` in OpenNMT-tf's configuration).
    """
    if num_heads is not None:
        check_integer("num_heads", num_heads)
    check_boolean("source_begin", source_begin)
    check_boolean("source_end", source_end)
    return OpenNMTTFFolder(folder).imported(num_heads, source_begin, source_end)


class OpenNMTTFFolder:
    def __init__(self, folder):
        self.folder = folder
        prefix = checkpoint_prefix(folder, CHECKPOINTS)
        tensors = read_checkpoint(prefix)
        weights = {name: tensors[name] for name in tensors if not TRAINING.match(name)}
        self.tensors = Tensors(weights, prefix)
        self.pre_norm = "model/encoder/layer_norm/gamma" in weights
        path = folder / DESCRIPTION
        # The description is a program. It is searched for settings and never executed.
        text = path.read_text("utf-8", "replace") if path.exists() else ""
        self.description = re.sub("#.*", "", text)

    def imported(self, num_heads, source_begin, source_end):
        find, take = self.tensors.find, self.tensors.take
        source = take(SOURCE, None, None)
        d_model = source.shape[1]
        target = find(TARGET, None, d_model) or source
        texts = self.vocabularies(source.shape[0], target.shape[0])
        texts[0].begin = source_begin
        has_bias = f"{FIRST}/linear_queries/bias" in self.tensors
        place = "input" if self.pre_norm else "output"
        converter = Converter(self.tensors, NAMES, place=place)
        heads = self.heads(num_heads)
        converter.blocks(d_model, heads, self.pre_norm, attention_bias=has_bias)
        output = find(f"{OUTPUT}/kernel", d_model, target.shape[0])
        matrices = source, target, target if output is None else output.transposed
        bias = find(f"{OUTPUT}/bias", target.shape[0])
        converter.embeddings(matrices, texts, bias)
        tables = [f"model/{stack}/position_encoder/embedding" for stack in STACKS]
        # OpenNMT-tf counts positions from 1; row 0 is not used.
        if not converter.positions(tables, unused=1, offset=1):
            self.check_sinusoids()
        notes = []
        if not self.description:
            notes.append(f"no {DESCRIPTION}: the activation is taken to be ReLU")
        if not (source_begin or source_end):
            notes.append(
                "the source has no <s> and no </s>; for a model that was trained with them "
                "(source_sequence_controls), import with --source_begin, --source_end"
            )
        return converter.imported(
            "OpenNMT-tf",
            {"alpha": 0.0},
            notes,
            activation=self.activation(),
            norm_epsilon=1e-3,  # Keras' default, which OpenNMT-tf does not change
            source_end=source_end,
        )

    def vocabularies(self, *rows_of_sides):
        """Returns the `Pieces` of source and target."""
        expected = (
            "the vocabulary of the model's training as one file vocab.txt, or two with the names "
            "src-vocab.txt and tgt-vocab.txt"
        )
        paths = find_vocabularies(self.folder, SUFFIXES, expected)
        texts = []
        for side, path, rows in zip(SIDES, (paths[0], paths[-1]), rows_of_sides, strict=True):
            tokens = read_lines(path)
            if tokens[: len(SPECIAL)] != SPECIAL:
                raise ValueError(
                    f"{path} must begin with the lines {', '.join(SPECIAL)}, as vocabularies of "
                    f"OpenNMT-tf do. Received: {', '.join(tokens[: len(SPECIAL)])}"
                )
            if len(tokens) + 1 != rows or len(set(tokens)) != len(tokens):
                raise ValueError(
                    f"{path} must have {rows - 1:,} different tokens, as the {side} matrix has "
                    f"{rows:,} rows and the last is the unknown token's. Received: "
                    f"{len(set(tokens)):,}"
                )
            unknown = "<unk>"
            while unknown in tokens:
                unknown = f"<{unknown}>"
            ids = Ids(rows, *range(len(SPECIAL)), unknown=rows - 1)
            fields = sentencepiece_fields(self.folder, side, tokens)
            texts.append(ids.pieces([*tokens, unknown], **fields))
        return texts

    def heads(self, given):
        """Returns the number of heads, which the checkpoint does not contain."""
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
        return found.pop() if given is None else given

    def activation(self):
        """Returns the activation, which the checkpoint does not contain."""
        place = self.folder / DESCRIPTION
        names = sorted(self.described("ffn_activation") or {"tf.nn.relu"})
        for name in names:
            require(place, "ffn_activation", name, ACTIVATIONS)
        require(place, "number of ffn_activations", len(names), (1,))
        return ACTIVATIONS[names[0]]

    def check_sinusoids(self):
        """Rejects a model without tables of positions whose description names other encodings."""
        for encoder in self.described("position_encoder_class"):
            if not encoder.endswith(SINUSOIDAL):
                raise ValueError(
                    f"{self.folder / DESCRIPTION} has position_encoder_class={encoder}, and "
                    "the checkpoint has no table of positions. Models are imported with: "
                    f"{SINUSOIDAL}, or a table"
                )

    def described(self, name):
        """Returns the values of an argument in the description."""
        found = re.findall(rf"\b{name}\s*=\s*([^\s,)]+)", self.description)
        return set(found) - {name}  # `name=name` only passes the argument to a base class
