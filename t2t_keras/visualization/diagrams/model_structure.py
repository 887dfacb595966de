"""The structure of a `Transformer`, read from its layers, for diagrams of it."""

import itertools
from typing import NamedTuple

from t2t_keras.layers import (
    DecoderBlock,
    EncoderBlock,
    FeedForward,
    LearnedPositionalEncoding,
    LocalSelfAttention,
    MultiHeadAttention,
    SinusoidalPositionalEncoding,
)
from t2t_keras.layers.residual import Residual
from t2t_keras.transformer import Transformer


class SubLayer(NamedTuple):
    """A sub-layer of a block, with the residual connection and the norm around it.

    Args:
        kind: "attention", "cross-attention", "feed-forward", or "other" for a layer of one's own.
        title: name in the diagram.
        details: its settings.
        pre_norm: the norm is before the sub-layer instead of after the sum.
        has_norm, has_residual: whether there are a norm and a residual connection.
    """

    kind: str
    title: str
    details: str
    pre_norm: bool
    has_norm: bool
    has_residual: bool


class StackStructure(NamedTuple):
    """The encoder or the decoder.

    Args:
        groups: list of (number of equal blocks in a row, tuple of their `SubLayer`s).
        final_norm: whether a norm follows the last block.
        positions: "sinusoidal", "learned" or None; the encoding that is added to the embeddings.
        vocabulary: number of ids.
        scale: factor on the embeddings.
    """

    groups: list
    final_norm: bool
    positions: str | None
    vocabulary: int
    scale: float


class AttentionStructure(NamedTuple):
    """Multi-head attention, for the paper's Figure 2.

    Args:
        heads, d_k, d_v: h and the widths of a head.
        scores: kind of scores, a key of `SCORES`.
        is_rotated: a function of their positions is applied to queries and keys.
        has_bias: biases of relative positions are added to the scores.
    """

    heads: int
    d_k: int
    d_v: int
    scores: str
    is_rotated: bool
    has_bias: bool


class ModelStructure(NamedTuple):
    """The structure of a model.

    Args:
        encoder, decoder: `StackStructure`s.
        attention: the `AttentionStructure` of the encoder's first block; None without attention.
        notes: lines on the whole model.
    """

    encoder: StackStructure
    decoder: StackStructure
    attention: AttentionStructure | None
    notes: list


def check_drawable(model):
    """Raises `ValueError` if a model is not a `Transformer`."""
    if not isinstance(model, Transformer):
        raise ValueError(
            "A diagram needs a Transformer, with an encoder and a decoder of blocks. Received: "
            f"{type(model).__name__}"
        )


def structure_of(model):
    """Returns the `ModelStructure` of a `Transformer`."""
    check_drawable(model)
    sides = {
        "encoder": (model.encoder, model.source_positions, model.source_embedding),
        "decoder": (model.decoder, model.target_positions, model.embedding),
    }
    stacks = {name: stack_structure(*layers) for name, layers in sides.items()}
    attention = [
        residual.sublayer
        for block in model.encoder.blocks
        for residual in residuals(block)
        if isinstance(residual.sublayer, MultiHeadAttention)
    ]
    return ModelStructure(
        **stacks,
        attention=attention_structure(attention[0]) if attention else None,
        notes=notes_of(model),
    )


def stack_structure(stack, positions, embedding):
    blocks = [tuple(map(sublayer_of, residuals(block))) for block in stack.blocks]
    return StackStructure(
        groups=[(len(list(equal)), kind) for kind, equal in itertools.groupby(blocks)],
        final_norm=stack.final_norm is not None,
        positions=kind_of(positions),
        vocabulary=embedding.vocab_size,
        scale=embedding.scale,
    )


def residuals(block):
    """Returns the `Residual` layers of a block, in the order in which the block made them."""
    return [layer for layer in vars(block).values() if isinstance(layer, Residual)]


def sublayer_of(residual):
    layer = residual.sublayer
    kind, title, details = "other", type(layer).__name__, ""
    if isinstance(layer, MultiHeadAttention):
        is_cross = residual.name == "cross_attention"
        kind = "cross-attention" if is_cross else "attention"
        title = f"{'Masked ' if layer.causal else ''}Multi-Head Attention"
        details = f"h = {layer.num_heads}, {widths(layer)}"
        if isinstance(layer, LocalSelfAttention):
            details = f"r = {layer.neighbourhood}, {details}"
    elif isinstance(layer, FeedForward):
        kind, title = "feed-forward", "Feed Forward"
        name = getattr(layer.activation, "__name__", layer.activation)
        details = f"d_ff = {layer.d_ff:,}, {name}"
        if type(layer) is not FeedForward:
            title = type(layer).__name__
    return SubLayer(
        kind,
        title,
        details,
        pre_norm=residual.pre_norm,
        has_norm=residual.norm is not None,
        has_residual=residual.residual,
    )


def widths(attention):
    if attention.d_k == attention.d_v:
        return f"d_k = d_v = {attention.d_k}"
    return f"d_k = {attention.d_k}, d_v = {attention.d_v}"


def attention_structure(layer):
    return AttentionStructure(
        heads=layer.num_heads,
        d_k=layer.d_k,
        d_v=layer.d_v,
        scores=layer.attention,
        is_rotated=layer.encode_heads is not None,
        has_bias=layer.relative_bias is not None,
    )


def kind_of(positions):
    kinds = {SinusoidalPositionalEncoding: "sinusoidal", LearnedPositionalEncoding: "learned"}
    found = [kind for layer, kind in kinds.items() if isinstance(positions, layer)]
    return found[0] if found else None


def notes_of(model):
    config = model.config
    matrices = {id(model.source_embedding), id(model.embedding), id(model.output_embedding)}
    shared = {
        1: "one matrix for source, target and output",
        2: "two matrices for source, target and output",
        3: "a matrix each for source, target and output",
    }
    notes = [f"d_model = {config.d_model:,}", f"dropout {config.dropout:g}", shared[len(matrices)]]
    if config.positions not in ("sinusoidal", "learned"):
        notes.append(f"positions: {config.positions}")
    own = {
        type(block).__name__
        for block in (*model.encoder.blocks, *model.decoder.blocks)
        if type(block).call not in (EncoderBlock.call, DecoderBlock.call)
    }
    # The order of the calls is code, which no layer shows.
    return [*notes, *(f"{name} may connect its layers differently" for name in sorted(own))]
