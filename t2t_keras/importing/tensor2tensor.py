"""Checkpoints of tensor2tensor's Transformer, with hparams.json or flags.txt next to them."""

import re

from t2t_keras.importing.converter import SIDES, Converter, Names
from t2t_keras.importing.files.tensor2tensor_files import (
    read_hparams,
    read_vocabularies,
    rows_of_sides,
)
from t2t_keras.importing.files.tf_checkpoint import checkpoint_prefix, read_checkpoint
from t2t_keras.importing.ids import Ids
from t2t_keras.importing.settings import require
from t2t_keras.importing.tensors import Tensor, Tensors, concatenated

# {setting: values of the paper's model}. Other values are rejected.
REQUIRED = {
    "self_attention_type": ("dot_product",),
    "ffn_layer": ("dense_relu_dense", "conv_hidden_relu"),
    "norm_type": ("layer",),
    "pos": ("timing", "emb"),
    "multiply_embedding_mode": ("sqrt_depth", "none", ""),
    "prepend_mode": ("none",),
    "proximity_bias": (False,),
    "unidirectional_encoder": (False,),
    "symbol_modality_skip_top": (False,),
    "factored_logits": (False,),
    "hard_attention_k": (0,),
}
# {(layer_preprocess_sequence, layer_postprocess_sequence), without dropout: whether pre-norm}
NORMS = {("none", "an"): False, ("n", "a"): True}
CHECKPOINTS = "*.ckpt-*.index"
# Names of variables that training adds to the weights.
TRAINING = re.compile(r"(^|/)(training|losses_avg|train_stats)/|/Adam(_1)?$|(^|/)global_step$")
WEIGHT = re.compile(
    r"(?:^|/)((?:encoder|decoder|symbol_modality_\w+)/.*|target_space_embedding/kernel"
    r"|(?:inputs|targets)_positional_embedding)$"
)
NAMES = Names(
    block="{stack}/layer_{number}",
    attentions=("self_attention", "encdec_attention"),
    projections=tuple(
        f"{{block}}/{{attention}}/multihead_attention/{part}/{{part}}"
        for part in ("q", "k", "v", "output_transform")
    ),
    network=("{block}/ffn/conv1/{part}", "{block}/ffn/conv2/{part}"),
    norms=(
        "{block}/{attention}/layer_{place}/layer_norm/layer_norm_{part}",
        "{block}/ffn/layer_{place}/layer_norm/layer_norm_{part}",
        "{stack}/layer_prepostprocess/layer_norm/layer_norm_{part}",
    ),
    norm=("scale", "bias"),
)
SHARD = re.compile(r"(symbol_modality_\w+)/(shared|input_emb|target_emb|softmax)/weights_(\d+)")


def read(folder, target_space=0):
    """Reads a folder of tensor2tensor and returns an `Imported`.

    Args:
        folder: path of the folder with the checkpoint, hparams.json or flags.txt, and the
            sub-word file.
        target_space: id of the kind of text that the model was trained to write. The files do not
            contain it: the problem's class in tensor2tensor defines it. Its default there is 0.
    """
    return Tensor2TensorFolder(folder).imported(target_space)


class Tensor2TensorFolder:
    def __init__(self, folder):
        self.folder = folder
        prefix = checkpoint_prefix(folder, CHECKPOINTS)
        self.hparams = read_hparams(folder)
        for name, allowed in REQUIRED.items():
            require(folder, name, self.hparams.get(name, allowed[0]), allowed)
        tensors = {}
        for name, tensor in read_checkpoint(prefix).items():
            if TRAINING.search(name):
                continue
            weight = WEIGHT.search(name)
            # The place of the network in some models, and a convolution over one position.
            weight = (weight[1] if weight else name).replace("/conv_hidden_relu/", "/")
            if re.search("/conv[12]/kernel$", weight):
                tensor = tensor.reshaped(*tensor.shape[-2:])
            if weight in tensors:
                raise ValueError(f"{weight} occurs twice in {prefix}, in several models")
            tensors[weight] = tensor
        self.tensors = Tensors(tensors, prefix)
        # The names of the tensors show pre-norm even if flags.txt only names a set of hparams.
        self.pre_norm = "encoder/layer_prepostprocess/layer_norm/layer_norm_scale" in tensors
        names = ("layer_preprocess_sequence", "layer_postprocess_sequence")
        if all(name in self.hparams for name in names):
            sequences = [str(self.hparams[name]).replace("d", "") or "none" for name in names]
            if NORMS.get(tuple(sequences)) is not self.pre_norm:
                raise ValueError(
                    f"{folder} has {names[0]}={self.hparams[names[0]]!r} and "
                    f"{names[1]}={self.hparams[names[1]]!r}. They must be 'n' and 'da' with a "
                    "norm after each stack (pre-norm), or 'none' and 'dan' without (post-norm)"
                )

    def imported(self, target_space):
        hparams = self.hparams
        source, target, output = self.matrices()
        d_model = target.shape[1]
        scaled = hparams.get("multiply_embedding_mode", "sqrt_depth") == "sqrt_depth"
        divisor = hparams.get("vocab_divisor", 1)
        pieces = read_vocabularies(self.folder, source.shape[0], target.shape[0], divisor)
        # In tensor2tensor, id 0 is padding and id 1 is the end token. It has no begin token and no
        # unknown token.
        texts = [Ids(len(side), padding=0, end=1).pieces(side, kind="subwords") for side in pieces]
        notes = []
        embedded = source
        if table := self.tensors.find("target_space_embedding/kernel", None, d_model):
            factor = d_model**0.5 if scaled else 1.0
            embedded = with_target_space(source, table, target_space, factor)
            notes.append(
                f"target space {target_space} is a part of the source embeddings; for another "
                "one, import with --target_space=N"
            )
        elif target_space:
            raise ValueError(
                f"{self.folder} has no target spaces. Received: target_space={target_space}"
            )
        place = "prepostprocess" if self.pre_norm else "postprocess"
        converter = Converter(self.tensors, NAMES, place=place)
        converter.blocks(d_model, hparams.get("num_heads"), self.pre_norm, attention_bias=False)
        converter.embeddings((embedded, target, output), texts)
        tables = [f"{side}_positional_embedding" for side in ("inputs", "targets")]
        converter.positions(tables, required=hparams.get("pos") == "emb")
        return converter.imported(
            "tensor2tensor",
            {"beam": 4, "alpha": 0.6, "extra_length": 50},
            notes,
            embedding_scale=None if scaled else 1.0,
            norm_epsilon=hparams.get("norm_epsilon", 1e-6),
            dropout=hparams.get("layer_prepostprocess_dropout", 0.1),
            attention_dropout=hparams.get("attention_dropout", 0.0),
        )

    def matrices(self):
        """Returns the matrices of source, target and output. Equal matrices are the same object."""
        found = {}  # {(modality, kind): number of its shards}
        for name in self.tensors:
            if match := SHARD.fullmatch(name):
                place = match.group(1, 2)
                found[place] = found.get(place, 0) + 1
        kinds = {"shared": [], "input_emb": [], "target_emb": [], "softmax": []}
        for (modality, kind), shards in found.items():
            paths = [f"{modality}/{kind}/weights_{i}" for i in range(shards)]
            width = self.tensors.take(paths[0], None, None).shape[1]
            matrix = concatenated([self.tensors.take(path, None, width) for path in paths])
            kinds[kind].append(matrix)
        shared = kinds["shared"]
        inputs = shared * 2 if len(shared) == 1 else [*kinds["input_emb"], *kinds["target_emb"]]
        if len(shared) == 2:  # with vocabularies of different sizes, each language has one
            rows = rows_of_sides(self.folder, self.hparams.get("vocab_divisor", 1))
            inputs = [each for side in SIDES for each in shared if each.shape[0] == rows.get(side)]
        outputs = kinds["softmax"] or (inputs[1:] if shared else [])
        if len(inputs) != 2 or len(outputs) != 1:
            raise ValueError(
                f"{self.folder} must have embeddings `shared`, or `shared` and `softmax`, or "
                f"`input_emb`, `target_emb` and `softmax`. It has: "
                f"{', '.join(map('/'.join, found)) or 'none'}. If two are `shared`, give the "
                "sub-word files of their sizes the names vocab.source.subwords and "
                "vocab.target.subwords"
            )
        (source, target), (output,) = inputs, outputs
        if output.shape != target.shape or source.shape[1] != target.shape[1]:
            raise ValueError(
                f"{self.folder}: softmax must have the shape {target.shape} of the target's "
                f"embeddings, and the source's the same width. Received: {output.shape} and "
                f"{source.shape}"
            )
        return source, target, output


def with_target_space(matrix, table, id, factor):
    """Adds the vector of the target space to each embedding, as tensor2tensor does."""
    if not 0 <= id < table.shape[0]:
        raise ValueError(
            f"`target_space` must be at least 0 and below {table.shape[0]}. "
            f"Received: target_space={id}"
        )
    return Tensor(matrix.shape, lambda: matrix.read() + table.read()[id] / factor)
