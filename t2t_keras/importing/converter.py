"""Converts another system's tensors, by a table of their names, into the weights of our model."""

import re
from typing import NamedTuple

import numpy as np

from t2t_keras.importing.imported import Imported
from t2t_keras.importing.tensors import Tensor, zeros
from t2t_keras.transformer_config import TransformerConfig

STACKS = ("encoder", "decoder")
SIDES = ("source", "target")


def require(place, name, value, allowed):
    """Raises `ValueError` if a setting of a file or folder has no value of the paper's model."""
    if value not in allowed:
        raise ValueError(
            f"{place} has {name}={value!r}. Models are imported with: "
            f"{', '.join(str(each) for each in allowed if each != '')}"
        )


def same_in_both(place, name, values):
    """Returns the value that a setting has in encoder and decoder, which must be the same."""
    encoder, decoder = values
    if encoder != decoder:
        raise ValueError(
            f"{place}: encoder and decoder must have the same {name}. Received: {encoder} and "
            f"{decoder}"
        )
    return encoder


class Names(NamedTuple):
    """The names of a system's weights, in which words in braces are replaced.

    Args:
        block: name of a block, with {stack} ("encoder", "decoder") and {number}.
        attentions: {attention} of self-attention and of cross-attention.
        projections: names of query, key, value and output, with {block}, {attention} and {part}.
        network: names of the inner and the outer layer, with {block} and {part}.
        norms: names of the norms of attention, with {block}, {attention} and {part}; of the
            network, with {block} and {part}; and of a pre-norm stack, with {stack} and {part}.
        dense: {part} of a kernel and of a bias.
        norm: {part} of gamma and of beta.
        transposed: whether kernels are [out, in]. Ours are [in, out].
        first: number of the first block.
    """

    block: str
    attentions: tuple
    projections: tuple
    network: tuple
    norms: tuple
    dense: tuple = ("kernel", "bias")
    norm: tuple = ("gamma", "beta")
    transposed: bool = False
    first: int = 0


class Converter:
    """Collects weights and settings of a model.

    Args:
        tensors: the `Tensors` of the other system.
        names: their `Names`.
        optional: whether biases are zeros, and norms the identity, if their tensors are absent.
    """

    def __init__(self, tensors, names, optional=False):
        self.tensors, self.names, self.optional = tensors, names, optional
        self.weights, self.settings = {}, {"dropout": 0.1, "output_bias": True}

    def blocks(self, d_model, heads, pre_norm, attention_bias=True, layers=(), numbers=None):
        """Adds the weights of encoder and decoder. Their shapes determine the other widths.

        Args:
            d_model, heads, pre_norm, attention_bias: settings of the `TransformerConfig`.
            layers: expected numbers of blocks in encoder and decoder. (): unknown.
            numbers: the decoder's blocks by their numbers, which may be repeated. None: all.
        """
        self.d_model, self.attention_bias = d_model, attention_bias
        self.widths = set()
        found = [self.numbers("encoder"), numbers or self.numbers("decoder")]
        sizes = tuple(map(len, found))
        if layers and tuple(layers) != sizes:
            raise ValueError(
                f"{self.tensors.origin} has {sizes[0]} + {sizes[1]} layers in encoder and decoder, "
                f"but its settings say {layers[0]} + {layers[1]}"
            )
        for stack, used in zip(STACKS, found, strict=True):
            for i, number in enumerate(used):
                self.block(f"{stack}/block_{i}", stack, number)
            if pre_norm:
                self.norm(f"{stack}/norm", self.names.norms[2], stack=stack)
        if len(self.widths) > 1:
            raise ValueError(
                f"{self.tensors.origin}: all layers must have the same widths (d_ff, keys, "
                f"values). Received: {', '.join(map(str, sorted(self.widths)))}"
            )
        ((d_ff, keys, values),) = self.widths
        if type(heads) is not int or heads < 1 or keys % heads or values % heads:
            raise ValueError(
                f"{self.tensors.origin}: the number of heads must be a divisor of the widths of "
                f"keys and values, {keys} and {values}. Received: num_heads={heads}"
            )
        self.settings |= {
            **{"num_layers": sizes[0], "decoder_layers": sizes[1]},
            **{"d_model": d_model, "d_ff": d_ff, "num_heads": heads},
            **{"d_k": keys // heads, "d_v": values // heads},
            **{"pre_norm": pre_norm, "attention_bias": attention_bias},
        }

    def numbers(self, stack):
        """Returns the numbers of a stack's blocks."""
        form = re.escape(self.names.block.format(stack=stack, number="#")).replace(r"\#", r"(\d+)")
        found = (re.match(f"{form}[/._]", name) for name in self.tensors.names())
        last = max((int(match[1]) for match in found if match), default=-1)
        if last < self.names.first:
            raise ValueError(f"{self.tensors.origin} is not a Transformer: it has no {stack}")
        return range(self.names.first, last + 1)

    def block(self, path, stack, number):
        names, d_model = self.names, self.d_model
        block = names.block.format(stack=stack, number=number)
        network = f"{path}/feed_forward/network"
        inner = self.dense(f"{network}/inner", names.network[0], d_model, None, block=block)
        self.dense(f"{network}/outer", names.network[1], inner, d_model, block=block)
        self.norm(f"{path}/feed_forward/norm", names.norms[1], block=block)
        kinds = {"self_attention": names.attentions[0], "cross_attention": names.attentions[1]}
        if stack == "encoder":
            del kinds["cross_attention"]
        query, key, value, output = names.projections
        for kind, attention in kinds.items():
            place = {"block": block, "attention": attention, "bias": self.attention_bias}
            ours = f"{path}/{kind}/attention"
            keys = self.dense(f"{ours}/query", query, d_model, None, **place)
            self.dense(f"{ours}/key", key, d_model, keys, **place)
            values = self.dense(f"{ours}/value", value, d_model, None, **place)
            self.dense(f"{ours}/output", output, values, d_model, **place)
            self.norm(f"{path}/{kind}/norm", names.norms[0], **place)
            self.widths.add((inner, keys, values))

    def dense(self, path, name, width, units, bias=True, **place):
        """Adds a kernel and a bias. Returns the number of units; None allows any."""
        kernel, offset = (name.format(part=part, **place) for part in self.names.dense)
        if self.names.transposed:
            tensor = self.tensors.take(kernel, units, width).transposed
        else:
            tensor = self.tensors.take(kernel, width, units)
        self.weights[f"{path}/kernel"] = tensor
        if bias:
            self.weights[f"{path}/bias"] = self.vector(offset, tensor.shape[1], zeros)
        return tensor.shape[1]

    def norm(self, path, name, **place):
        gamma, beta = (name.format(part=part, **place) for part in self.names.norm)
        self.weights[f"{path}/gamma"] = self.vector(gamma, self.d_model, ones)
        self.weights[f"{path}/beta"] = self.vector(beta, self.d_model, zeros)

    def vector(self, name, size, default):
        if self.optional and name not in self.tensors:
            return default(size)
        return self.tensors.take(name, size)

    def embeddings(self, matrices, orders, is_shared, bias=None, start=None, source_start=None):
        """Adds the embeddings, and the matrix and the bias that compute the logits.

        Args:
            matrices: (source, target, output). A tied output matrix is the target's object.
            orders: the `Ids` of source and target.
            is_shared: whether source and target have the same embeddings.
            bias: the logit bias, or None if there is none.
            start: see `Ids.input_matrix`.
            source_start: the same for the token that precedes the source.
        """
        (source, target, output), (source_order, order) = matrices, orders
        is_tied = output is target
        self.settings |= {"vocab_size": len(order), "tie_output": is_tied}
        self.weights["embedding/matrix"] = order.input_matrix(target, start)
        if not is_shared:
            self.settings["source_vocab_size"] = len(source_order)
            matrix = source_order.input_matrix(source, source_start)
            self.weights["source_embedding/matrix"] = matrix
        if not is_tied:
            self.weights["output_embedding/matrix"] = order.output_matrix(output)
        layer = "embedding" if is_tied else "output_embedding"
        self.weights[f"{layer}/bias"] = order.output_bias(bias)

    def positions(self, tables):
        """Adds the tables of source and target, or None where a side has none; returns `any`."""
        lengths = [table.shape[0] if table else 0 for table in tables]
        length = same_in_both(self.tensors.origin, "number of positions", lengths)
        if any(tables):
            names = (f"{side}_positions/table" for side in SIDES)
            self.weights |= zip(names, tables, strict=True)
            self.settings |= {"positions": "learned", "max_length": length}
        return any(tables)

    def imported(self, system, texts, search, notes=(), **settings):
        """Returns the `Imported` model, after checking that every tensor was used."""
        self.tensors.check_all_used()
        config = TransformerConfig(**self.settings | settings)
        return Imported(system, config, self.weights, *texts, search=search, notes=list(notes))


def ones(size):
    return Tensor([size], lambda: np.ones(size, "float32"))
