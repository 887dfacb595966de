"""Converts another system's tensors, by a table of their names, into the weights of our model."""

import re
from typing import NamedTuple

import numpy as np

from t2t_keras.importing.ids import ABSENT
from t2t_keras.importing.imported import Imported
from t2t_keras.importing.settings import same_in_both
from t2t_keras.importing.tensors import Tensor
from t2t_keras.transformer_config import TransformerConfig

STACKS = ("encoder", "decoder")
SIDES = ("source", "target")


class Names(NamedTuple):
    """The names of a system's weights, in which words in braces are replaced.

    Args:
        block: name of a block, with {stack} ("encoder", "decoder") and {number}.
        attentions: {attention} of self-attention and of cross-attention.
        projections: names of query, key, value and output, with {block}, {attention} and {part}.
        network: names of the inner and the outer layer, with {block} and {part}.
        norms: names of the norms of attention, with {block}, {attention} and {part}; of the
            network, with {block} and {part}; and of a pre-norm stack, with {stack} and {part}. The
            first two may have {place}, which depends on `pre_norm`.
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
        place: see `Names.norms`.
    """

    def __init__(self, tensors, names, optional=False, place=""):
        self.tensors, self.names, self.optional, self.place = tensors, names, optional, place
        self.weights, self.settings = {}, {"dropout": 0.1, "output_bias": True}

    def blocks(self, d_model, heads, pre_norm, attention_bias=True, numbers=None):
        """Adds the weights of encoder and decoder. Their shapes determine the other widths.

        Args:
            d_model, heads, pre_norm, attention_bias: settings of the `TransformerConfig`.
            numbers: the decoder's blocks by their numbers, which may be repeated. None: all.
        """
        self.d_model, self.attention_bias = d_model, attention_bias
        self.widths = set()
        found = [self.numbers("encoder"), numbers or self.numbers("decoder")]
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
            **{"num_layers": len(found[0]), "decoder_layers": len(found[1])},
            **{"d_model": d_model, "d_ff": d_ff, "num_heads": heads},
            **{"d_k": keys // heads, "d_v": values // heads},
            **{"pre_norm": pre_norm, "attention_bias": attention_bias},
        }

    def numbers(self, stack):
        form = re.escape(self.names.block.format(stack=stack, number="#")).replace(r"\#", r"(\d+)")
        found = (re.match(f"{form}[/._]", name) for name in self.tensors)
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
            self.weights[f"{path}/bias"] = self.vector(offset, tensor.shape[1], np.zeros)
        return tensor.shape[1]

    def norm(self, path, name, **names):
        names["place"] = self.place
        gamma, beta = (name.format(part=part, **names) for part in self.names.norm)
        self.weights[f"{path}/gamma"] = self.vector(gamma, self.d_model, np.ones)
        self.weights[f"{path}/beta"] = self.vector(beta, self.d_model, np.zeros)

    def vector(self, name, size, default):
        if self.optional and name not in self.tensors:
            return Tensor([size], lambda: default(size, "float32"))
        return self.tensors.take(name, size)

    def embeddings(self, matrices, texts, bias=None, start=None, source_start=None):
        """Adds the embeddings, and the matrix and the bias that compute the logits.

        Args:
            matrices: (source, target, output). Equal matrices are the same object.
            texts: the `Pieces` of source and target, with their `Ids`.
            bias: the logit bias, or None if there is none.
            start: the id that the decoder starts from, see `Ids.rows`.
            source_start: the same for the token that precedes the source.
        """
        (source, target, output), (source_text, text) = matrices, texts
        is_tied = output is target
        self.texts = [text if source_text == text else source_text, text]
        self.settings |= {"vocab_size": len(text.pieces), "tie_output": is_tied}
        self.weights["embedding/matrix"] = text.ids.rows(target, start)
        if not (
            source is target
            and source_text.pieces == text.pieces
            and np.array_equal(source_text.ids.theirs, text.ids.theirs)
            and (start == source_start or not source_text.begin)
        ):
            self.settings["source_vocab_size"] = len(source_text.pieces)
            self.weights["source_embedding/matrix"] = source_text.ids.rows(source, source_start)
        if not is_tied:
            self.weights["output_embedding/matrix"] = text.ids.rows(output, ABSENT)
        layer = "embedding" if is_tied else "output_embedding"
        self.weights[f"{layer}/bias"] = text.ids.bias(bias)

    def positions(self, names, unused=0, offset=0, required=False):
        """Adds the tables of positions of source and target, or the settings of sinusoids.

        Args:
            names: names of the tables.
            unused: number of rows of a table before its first position.
            offset: index of the first position of sinusoids.
            required: whether there must be tables.

        Returns:
            Whether there are tables.
        """
        find = self.tensors.take if required else self.tensors.find
        tables = [find(name, None, self.d_model) for name in names]
        lengths = [table.shape[0] if table else 0 for table in tables]
        length = same_in_both(self.tensors.origin, "number of positions", lengths)
        if not length:
            self.settings |= {"positions": "concatenated", "position_offset": offset}
            return False
        for side, table in zip(SIDES, tables, strict=True):
            self.weights[f"{side}_positions/table"] = table.rows(unused, length)
        self.settings |= {"positions": "learned", "max_length": length - unused}
        return True

    def imported(self, system, search, notes=(), **settings):
        """Returns the `Imported` model, after checking that every tensor was used."""
        self.tensors.check_all_used()
        config = TransformerConfig(**self.settings | settings)
        return Imported(system, config, self.weights, *self.texts, search, notes=list(notes))
