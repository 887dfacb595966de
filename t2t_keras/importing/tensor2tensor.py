"""Checkpoints of tensor2tensor's Transformer, with hparams.json or flags.txt next to them."""

import re

from t2t_keras.importing.files.tensor2tensor_files import (
    read_hparams,
    read_vocabularies,
    rows_of_sides,
)
from t2t_keras.importing.files.tf_checkpoint import checkpoint_prefix, read_checkpoint
from t2t_keras.importing.ids import Ids
from t2t_keras.importing.imported import Imported, ImportedWeights, Pieces
from t2t_keras.importing.tensors import Tensor, Tensors, concatenated
from t2t_keras.transformer_config import TransformerConfig

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
# Possible names of the matrices: (source, target, output).
MATRICES = (
    ("shared", "shared", "shared"),
    ("shared", "shared", "softmax"),
    ("input_emb", "target_emb", "softmax"),
    ("source's shared", "target's shared", "target's shared"),
    ("source's shared", "target's shared", "softmax"),
)
CHECKPOINTS = "*.ckpt-*.index"
# Names of variables that training adds to the weights.
TRAINING = re.compile(r"(^|/)(training|losses_avg|train_stats)/|/Adam(_1)?$|(^|/)global_step$")
WEIGHT = re.compile(
    r"(?:^|/)((?:encoder|decoder|symbol_modality_\w+)/.*|target_space_embedding/kernel"
    r"|(?:inputs|targets)_positional_embedding)$"
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
    """A folder with a checkpoint of tensor2tensor."""

    def __init__(self, folder):
        self.folder = folder
        prefix = checkpoint_prefix(folder, CHECKPOINTS)
        self.hparams = read_hparams(folder)
        for name, allowed in REQUIRED.items():
            value = self.hparams.get(name, allowed[0])
            if value not in allowed:
                raise ValueError(
                    f"{folder} has {name}={value!r}. Models are imported with: "
                    f"{', '.join(map(str, allowed))}"
                )
        tensors = {}
        for name, tensor in read_checkpoint(prefix, version=1).items():
            if TRAINING.search(name):
                continue
            weight = WEIGHT.search(name)
            weight = weight[1] if weight else name
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
        source, target, output = self.matrices()
        self.d_model = target.shape[1]
        scaled = self.hparams.get("multiply_embedding_mode", "sqrt_depth") == "sqrt_depth"
        divisor = self.hparams.get("vocab_divisor", 1)
        pieces = read_vocabularies(self.folder, source.shape[0], target.shape[0], divisor)
        # In tensor2tensor, id 0 is padding and id 1 is the end token. It has no begin token and no
        # unknown token.
        source_order, target_order = (Ids(m.shape[0], padding=0, end=1) for m in (source, target))
        target_text = Pieces(target_order.ordered(pieces[1]), kind="subwords")
        source_text = target_text
        if pieces[0] is not pieces[1]:
            source_text = Pieces(source_order.ordered(pieces[0]), kind="subwords")
        notes = []
        embedded = source
        if table := self.tensors.find("target_space_embedding/kernel", None, self.d_model):
            factor = self.d_model**0.5 if scaled else 1.0
            embedded = with_target_space(source, table, target_space, factor)
            notes.append(
                f"target space {target_space} is a part of the source embeddings; for another "
                "one, import with --target_space=N"
            )
        elif target_space:
            raise ValueError(
                f"{self.folder} has no target spaces. Received: target_space={target_space}"
            )
        weights = ImportedWeights()
        config = self.config(weights)
        weights.by_path["embedding/matrix"] = target_order.input_matrix(target)
        if embedded is not target:
            config["source_vocab_size"] = len(source_order)
            weights.by_path["source_embedding/matrix"] = source_order.input_matrix(embedded)
        config |= {"vocab_size": len(target_order), "tie_output": output is target}
        name = "embedding"
        if output is not target:
            name = "output_embedding"
            weights.by_path[f"{name}/matrix"] = target_order.output_matrix(output)
        weights.by_path[f"{name}/bias"] = target_order.output_bias()
        config["embedding_scale"] = None if scaled else 1.0
        self.tensors.check_all_used()
        return Imported(
            "tensor2tensor",
            TransformerConfig(**config),
            weights.by_path,
            source_text,
            target_text,
            search={"beam": 4, "alpha": 0.6, "extra_length": 50},
            notes=notes,
        )

    def matrices(self):
        """Returns the matrices of source, target and output. Equal matrices are the same object."""
        shards = {}
        for name in self.tensors.names():
            if match := SHARD.fullmatch(name):
                shards.setdefault(match[2], {}).setdefault(match[1], []).append(int(match[3]))
        matrices = {}
        for part, scopes in shards.items():
            found = [self.matrix(f"{scope}/{part}", len(each)) for scope, each in scopes.items()]
            sides = self.by_vocabularies(found)
            if len(found) == 1:
                matrices[part] = found[0]
            elif part == "shared" and sides:
                matrices |= {f"{side}'s shared": matrix for side, matrix in sides.items()}
            else:
                raise ValueError(
                    f"{self.folder} has several matrices {part}, and does not say which is whose: "
                    f"{', '.join(scopes)}. Give the sub-word files of their sizes the names "
                    "vocab.source.subwords and vocab.target.subwords"
                )
        for parts in MATRICES:
            if matrices.keys() == set(parts):
                source, target, output = (matrices[part] for part in parts)
                break
        else:
            raise ValueError(
                f"{self.folder} must have embeddings `shared`, or `shared` and `softmax`, or "
                f"`input_emb`, `target_emb` and `softmax`. It has: {', '.join(matrices) or 'none'}"
            )
        if output.shape != target.shape or source.shape[1] != target.shape[1]:
            raise ValueError(
                f"{self.folder}: softmax must have the shape {target.shape} of the target's "
                f"embeddings, and the source's the same width. Received: {output.shape} and "
                f"{source.shape}"
            )
        return source, target, output

    def matrix(self, path, shards):
        first = self.tensors.take(f"{path}/weights_0", None, None)
        paths = [f"{path}/weights_{i}" for i in range(shards)]
        return concatenated([self.tensors.take(path, None, first.shape[1]) for path in paths])

    def by_vocabularies(self, matrices):
        """Returns {side: matrix} if the sizes of the vocabularies show which matrix is which.

        If the two vocabularies have different sizes, each language has a matrix named `shared`.
        """
        rows = rows_of_sides(self.folder, self.hparams.get("vocab_divisor", 1))
        by_rows = {matrix.shape[0]: matrix for matrix in matrices}
        if len(matrices) == 2 and by_rows.keys() == set(rows.values()):
            return {side: by_rows[size] for side, size in rows.items()}
        return None

    def config(self, weights):
        """Returns settings of the `TransformerConfig`, and collects the weights of all blocks."""
        self.widths, layers = set(), []
        for stack in ("encoder", "decoder"):
            numbers = (re.match(rf"{stack}/layer_(\d+)/", name) for name in self.tensors.names())
            layers.append(max((int(match[1]) + 1 for match in numbers if match), default=0))
            expected = self.hparams.get(f"num_{stack}_layers") or self.hparams.get(
                "num_hidden_layers", layers[-1]
            )
            if layers[-1] != expected or not 1 <= expected <= 1000:
                raise ValueError(
                    f"{self.folder}: the {stack} has {layers[-1]} layers, and must have as many "
                    f"as the hparams say. Received: {expected!r}"
                )
            for i in range(expected):
                self.block(f"{stack}/layer_{i}", f"{stack}/block_{i}", weights)
            if self.pre_norm:
                norm = self.norm(f"{stack}/layer_prepostprocess")
                weights.norm(f"{stack}/norm", *norm)
        heads = self.hparams.get("num_heads")
        if not isinstance(heads, int) or heads < 1:
            raise ValueError(f"{self.folder}: num_heads must be a whole number. Received: {heads}")
        if len(self.widths) > 1:
            raise ValueError(
                f"{self.folder}: all layers must have the same d_ff and the same widths of "
                f"attention. Received: {sorted(self.widths)}"
            )
        ((d_ff, keys, values),) = self.widths
        if keys % heads or values % heads:
            raise ValueError(
                f"{self.folder}: {heads} heads cannot share attention of width {keys} and {values}"
            )
        return {
            **{"num_layers": layers[0], "decoder_layers": layers[1], "num_heads": heads},
            **{"d_model": self.d_model, "d_ff": d_ff, "pre_norm": self.pre_norm},
            **{"d_k": keys // heads, "d_v": values // heads, **self.positions(weights)},
            **{"norm_epsilon": self.hparams.get("norm_epsilon", 1e-6), "output_bias": True},
            "dropout": self.hparams.get("layer_prepostprocess_dropout", 0.1),
            "attention_dropout": self.hparams.get("attention_dropout", 0.0),
        }

    def positions(self, weights):
        if self.hparams.get("pos", "timing") == "timing":
            return {"positions": "concatenated"}
        tables = {
            side: self.tensors.take(f"{name}_positional_embedding", None, self.d_model)
            for side, name in (("source", "inputs"), ("target", "targets"))
        }
        rows = {table.shape[0] for table in tables.values()}
        if len(rows) > 1:
            raise ValueError(f"{self.folder}: the tables of positions must have the same length")
        weights.by_path |= {f"{side}_positions/table": table for side, table in tables.items()}
        return {"positions": "learned", "max_length": rows.pop()}

    def block(self, theirs, path, weights):
        kinds = {"self_attention": "self_attention"}
        if theirs.startswith("decoder"):
            kinds["encdec_attention"] = "cross_attention"
        place = "layer_prepostprocess" if self.pre_norm else "layer_postprocess"
        ffn = f"{theirs}/ffn"
        convolutions = f"{ffn}/conv_hidden_relu"  # exists if ffn_layer is conv_hidden_relu
        inside = convolutions if f"{convolutions}/conv1/kernel" in self.tensors else ffn
        inner = self.dense(f"{inside}/conv1", self.d_model, None)
        outer = self.dense(f"{inside}/conv2", inner[0].shape[1], self.d_model)
        for kind, ours in kinds.items():
            attention = f"{theirs}/{kind}/multihead_attention"
            query, key, value = (self.kernel(f"{attention}/{part}") for part in "qkv")
            name = "o" if f"{attention}/o" in self.tensors else "output_transform"
            output = self.kernel(f"{attention}/{name}", inward=True)
            layers = [(kernel, None) for kernel in (query, key, value, output)]
            weights.attention(f"{path}/{ours}", self.norm(f"{theirs}/{kind}/{place}"), *layers)
            self.widths.add((inner[0].shape[1], key.shape[1], value.shape[1]))
        weights.feed_forward(f"{path}/feed_forward", self.norm(f"{ffn}/{place}"), inner, outer)

    def kernel(self, path, inward=False):
        """Returns an attention kernel as a matrix. In the file, it may have an axis for heads."""
        if path not in self.tensors:
            shape = (None, self.d_model) if inward else (self.d_model, None)
            return self.tensors.take(f"{path}/kernel", *shape)
        if inward:
            tensor = self.tensors.take(path, None, None, self.d_model)
            heads, width, _ = tensor.shape
            tensor = tensor.reshaped(heads * width, self.d_model)
        else:
            tensor = self.tensors.take(path, self.d_model, None, None)
            _, heads, width = tensor.shape
            tensor = tensor.reshaped(self.d_model, heads * width)
        if self.hparams.setdefault("num_heads", heads) != heads:
            raise ValueError(
                f"{self.folder}: {path} has {heads} heads, not {self.hparams['num_heads']}"
            )
        return tensor

    def dense(self, path, width, units):
        tensor = self.tensors.take(f"{path}/kernel")
        if tensor.shape[:-2] in ((1,), (1, 1)):  # a convolution over one position
            tensor = tensor.reshaped(*tensor.shape[-2:])
        else:
            self.tensors.take(f"{path}/kernel", width, units)
        return tensor, self.tensors.take(f"{path}/bias", tensor.shape[1])

    def norm(self, path):
        return [
            self.tensors.take(f"{path}/layer_norm/layer_norm_{part}", self.d_model)
            for part in ("scale", "bias")
        ]


def with_target_space(matrix, table, id, factor):
    """Adds the vector of the target space to each embedding, as tensor2tensor does."""
    if not 0 <= id < table.shape[0]:
        raise ValueError(
            f"`target_space` must be at least 0 and below {table.shape[0]}. "
            f"Received: target_space={id}"
        )
    return Tensor(matrix.shape, lambda: matrix.read() + table.read()[id] / factor)
