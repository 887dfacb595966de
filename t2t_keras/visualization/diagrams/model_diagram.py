"""Figures 1 and 2 of the paper, drawn from the layers of a model.

The diagram shows the model's own structure: the number of blocks, the place of the norms,
missing residual connections, the kind of positions and of scores.
"""

import itertools

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
from t2t_keras.visualization.diagrams.attention_diagram import HEIGHT as ATTENTION_HEIGHT
from t2t_keras.visualization.diagrams.attention_diagram import draw_attention
from t2t_keras.visualization.diagrams.diagram_parts import BOX, COLORS, LOW, Canvas
from t2t_keras.visualization.images import GRAY, image

# Sizes in inches.
GAP = 0.3  # length of an arrow between boxes
FORK = 0.28  # space below attention, where queries, keys and values part
PAD = 0.2  # space inside the frame of a block
SKIP = 0.24  # distance of a residual connection from the boxes
ENCODER, DECODER, ATTENTION = 2.2, 5.8, 8.4  # x of the columns; the last is a left side
BOTTOM = 1.0  # y of the embeddings
WIDTH = 14.3
POSITIONS = {
    SinusoidalPositionalEncoding: "sinusoids",
    LearnedPositionalEncoding: "learned positions",
}
SHARED = {
    1: "one matrix for source, target and output",
    2: "two matrices for source, target and output",
    3: "a matrix each for source, target and output",
}


def model_diagram(path, model):
    """Draws a model as the paper's Figure 1, and its attention as Figure 2, in a PNG file."""
    if not isinstance(model, Transformer):
        raise ValueError(
            "A diagram needs a Transformer, with an encoder and a decoder of blocks. Received: "
            f"{type(model).__name__}"
        )
    attention = first_attention(model.encoder)
    width = WIDTH if attention else ATTENTION
    source = model.encoder, model.source_positions, model.source_embedding, "source"
    target = model.decoder, model.target_positions, model.embedding, "target, shifted right"
    with image(path, width, 1) as figure:
        canvas = Canvas(figure)
        top, _ = draw_stack(canvas, ENCODER, -1, *source)
        end, cross = draw_stack(canvas, DECODER, 1, *target)
        height = max(draw_memory(canvas, top, cross), draw_output(canvas, end)) + 0.4
        notes = " · ".join(notes_of(model))
        canvas.text((ENCODER + DECODER) / 2, 0.16, notes, 8, color=GRAY)
        if attention:
            height = max(height, ATTENTION_HEIGHT)
            draw_attention(canvas, ATTENTION, height, attention)
        canvas.fit(width, height)


def first_attention(stack):
    """Returns the first attention layer of a stack, or None."""
    layers = (residual.sublayer for block in stack.blocks for residual in residuals(block))
    return next((layer for layer in layers if isinstance(layer, MultiHeadAttention)), None)


def residuals(block):
    """Returns the `Residual` layers of a block, in the order in which the block made them."""
    return [layer for layer in vars(block).values() if isinstance(layer, Residual)]


def groups_of(stack):
    """Returns (number of equal blocks in a row, `boxes_around` their sub-layers) for each row."""
    blocks = [list(map(boxes_around, residuals(block))) for block in stack.blocks]
    return [(len(list(equal)), sublayers) for sublayers, equal in itertools.groupby(blocks)]


def boxes_around(residual):
    """Returns (kind, title, details) of a sub-layer and of its norms, from bottom to top.

    The kind is a key of `COLORS`: "norm", or "other" for a layer of one's own.
    """
    layer = residual.sublayer
    kind, title, details = "other", type(layer).__name__, ""
    if isinstance(layer, MultiHeadAttention):
        kind = "cross-attention" if residual.name == "cross_attention" else "attention"
        title = f"{'Masked ' if layer.causal else ''}Multi-Head Attention"
        widths = f"d_k = {layer.d_k}, d_v = {layer.d_v}"
        if layer.d_k == layer.d_v:
            widths = f"d_k = d_v = {layer.d_k}"
        details = f"h = {layer.num_heads}, {widths}"
        if isinstance(layer, LocalSelfAttention):
            details = f"r = {layer.neighbourhood}, {details}"
    elif isinstance(layer, FeedForward):
        kind, name = "feed-forward", getattr(layer.activation, "__name__", layer.activation)
        details = f"d_ff = {layer.d_ff:,}, {name}"
        if type(layer) is FeedForward:
            title = "Feed Forward"
    add, norm = "Add" * bool(residual.residual), "Norm" * (residual.norm is not None)
    before, after = "", " & ".join(filter(None, (add, norm)))
    if residual.pre_norm:
        before, after = norm, add
    boxes = ("norm", before, ""), (kind, title, details), ("norm", after, "")
    return [box for box in boxes if box[1]]


def notes_of(model):
    config = model.config
    matrices = {id(model.source_embedding), id(model.embedding), id(model.output_embedding)}
    notes = [f"d_model = {config.d_model:,}", f"dropout {config.dropout:g}", SHARED[len(matrices)]]
    if config.positions not in ("sinusoidal", "learned"):
        notes.append(f"positions: {config.positions}")
    own = {
        type(block).__name__
        for block in (*model.encoder.blocks, *model.decoder.blocks)
        if type(block).call not in (EncoderBlock.call, DecoderBlock.call)
    }
    # The order of the calls is code, which no layer shows.
    return [*notes, *(f"{name} may connect its layers differently" for name in sorted(own))]


def draw_stack(canvas, x, side, stack, positions, embedding, text):
    """Draws embeddings, positions and blocks, with their residual connections on a side, −1 or 1.

    Returns the y of the last box's top, and the list of the places (x, y) where cross-attention
    takes the encoder's output.
    """
    cross = []
    canvas.text(x, BOTTOM - 0.42, text, 9.5)
    canvas.arrow((x, BOTTOM - 0.3), (x, BOTTOM))
    details = f"{embedding.vocab_size:,} ids, × {embedding.scale:.4g}"
    y = canvas.box(x, BOTTOM, "Embedding", "embedding", details)
    for kind, name in POSITIONS.items():
        if isinstance(positions, kind):
            y = draw_positions(canvas, x, y, side, name)
    for count, sublayers in groups_of(stack):
        bottom = y + GAP / 2
        canvas.line((x, y), (x, bottom + PAD))
        y = bottom + PAD
        for boxes in sublayers:
            y = draw_sublayer(canvas, x, y, side, boxes, cross)
        canvas.line((x, y), (x, y + PAD))
        y += PAD
        left = x - BOX / 2 - (SKIP + 0.14 if side < 0 else 0.18)
        width = BOX + SKIP + 0.32
        canvas.rounded(left, bottom, width, y - bottom, COLORS["frame"], 0.2, "#b4b9c0")
        outside = left - 0.28 if side < 0 else left + width + 0.28
        canvas.text(outside, (bottom + y) / 2, f"{count} ×", 12)
    if stack.final_norm is not None:
        canvas.arrow((x, y), (x, y + GAP))
        y = canvas.box(x, y + GAP, "Norm", "norm")
    return y, cross


def draw_positions(canvas, x, y, side, name):
    """Draws the sum of embedding and positions. Returns the y of its top."""
    middle, place = y + GAP + 0.1, x + side * 0.6
    canvas.line((x, y), (x, middle - 0.1))
    canvas.sum(x, middle)
    canvas.arrow((place, middle), (x + side * 0.1, middle))
    canvas.text(place + side * 0.08, middle, name, 8, ha="left" if side > 0 else "right")
    return middle + 0.1


def draw_sublayer(canvas, x, y, side, boxes, cross):
    """Draws a sub-layer with its norm and residual connection. Returns the y of its top.

    The places where cross-attention takes the encoder's output are added to `cross`.
    """
    start = y + 0.1
    for kind, title, details in boxes:
        y = draw_inputs(canvas, x, y, kind, cross)
        if kind == "norm" and title.startswith("Add"):
            turn, edge, middle = x + side * (BOX / 2 + SKIP), x + side * BOX / 2, y + LOW / 2
            canvas.arrow((x, start), (turn, start), (turn, middle), (edge, middle))
        y = canvas.box(x, y, title, kind, details)
    return y


def draw_inputs(canvas, x, y, kind, cross):
    """Draws the arrows into a box. Returns the y of its bottom."""
    if not kind.endswith("attention"):
        canvas.arrow((x, y), (x, y + GAP))
        return y + GAP
    bottom, fork = y + GAP + FORK, y + GAP + 0.08
    if kind == "cross-attention":
        cross.append((x, fork))
        for place in (x - 0.6, x):
            canvas.arrow((place, fork), (place, bottom))
        canvas.arrow((x, y), (x, y + 0.21), (x + 0.6, y + 0.21), (x + 0.6, bottom))
        return bottom
    canvas.line((x, y), (x, fork))
    for place in (x - 0.6, x, x + 0.6):
        canvas.arrow((x, fork), (place, fork), (place, bottom))
    return bottom


def draw_memory(canvas, top, places):
    """Draws the line from the encoder's output to every cross-attention. Returns its top's y."""
    turn, middle = top + 0.3, (ENCODER + DECODER) / 2 - 0.05
    if places:
        canvas.line((ENCODER, top), (ENCODER, turn), (middle, turn))
    for x, y in places:
        canvas.line((middle, turn), (middle, y), (x, y))
    return turn


def draw_output(canvas, y):
    """Draws the projection to the vocabulary, above the decoder. Returns the y of its text."""
    for title, color in (("Linear", "linear"), ("Softmax", "softmax")):
        canvas.arrow((DECODER, y), (DECODER, y + GAP))
        y = canvas.box(DECODER, y + GAP, title, color)
    canvas.arrow((DECODER, y), (DECODER, y + GAP))
    canvas.text(DECODER, y + GAP + 0.14, "probabilities of the next token", 9.5)
    return y + GAP
