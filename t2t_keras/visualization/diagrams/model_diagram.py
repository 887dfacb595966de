"""Figures 1 and 2 of the paper, drawn from the layers of a model.

The diagram shows the model's own structure: the number of blocks, the place of the norms,
missing residual connections, the kind of positions and of scores.
"""

from t2t_keras.visualization.diagrams.attention_diagram import HEIGHT as ATTENTION_HEIGHT
from t2t_keras.visualization.diagrams.attention_diagram import draw_attention
from t2t_keras.visualization.diagrams.diagram_parts import BOX, COLORS, HIGH, LOW, Canvas
from t2t_keras.visualization.diagrams.model_structure import structure_of
from t2t_keras.visualization.images import GRAY, image

# Sizes in inches.
GAP = 0.3  # length of an arrow between boxes
FORK = 0.28  # space below attention, where queries, keys and values part
PAD = 0.2  # space inside the frame of a block
SKIP = 0.24  # distance of a residual connection from the boxes
ENCODER, DECODER, ATTENTION = 2.2, 5.8, 8.4  # x of the columns; the last is a left side
BOTTOM = 1.0  # y of the embeddings
WIDTH = 14.3


def model_diagram(path, model):
    """Draws a model as the paper's Figure 1, and its attention as Figure 2.

    Args:
        path: path of the PNG file.
        model: a `Transformer`, with weights or without.
    """
    structure = structure_of(model)
    stacks = structure.encoder, structure.decoder
    height = BOTTOM + max(map(height_of, stacks)) + 2 * (LOW + GAP) + GAP + 0.4
    height = max(height, ATTENTION_HEIGHT if structure.attention else 0)
    width = WIDTH if structure.attention else ATTENTION
    with image(path, width, height) as figure:
        canvas = Canvas(figure, width, height)
        top, _ = draw_stack(canvas, ENCODER, -1, structure.encoder, "source")
        end, cross = draw_stack(canvas, DECODER, 1, structure.decoder, "target, shifted right")
        draw_memory(canvas, top, cross)
        draw_output(canvas, end)
        notes = " · ".join(structure.notes)
        canvas.text((ENCODER + DECODER) / 2, 0.16, notes, 8, color=GRAY)
        if structure.attention:
            draw_attention(canvas, ATTENTION, height, structure.attention)


def height_of(stack):
    """Returns the height of a stack with its embeddings."""
    blocks = sum(
        sum(map(sublayer_height, layers)) + 2 * PAD + GAP / 2 for _, layers in stack.groups
    )
    positions = (GAP + 0.2) * (stack.positions is not None)
    return HIGH + positions + blocks + (LOW + GAP) * stack.final_norm


def sublayer_height(layer):
    boxes = [box[0] for box in boxes_of(layer)]
    return sum(HIGH if name == "layer" and layer.details else LOW for name in boxes) + (
        len(boxes) * GAP + FORK * layer.kind.endswith("attention")
    )


def boxes_of(layer):
    """Returns the boxes of a sub-layer from bottom to top, as (name, title)."""
    norm, add = [("norm", "Norm")] * layer.has_norm, [("add", "Add")] * layer.has_residual
    if layer.pre_norm:
        return [*norm, ("layer", layer.title), *add]
    together = [("add", "Add & Norm")] if norm and add else [*add, *norm]
    return [("layer", layer.title), *together]


def draw_stack(canvas, x, side, stack, text):
    """Draws embeddings, positions and blocks.

    Args:
        canvas: a `Canvas`.
        x: center of the boxes.
        side: side of the residual connections: −1 left, 1 right.
        stack: a `StackStructure`.
        text: name of the input.

    Returns:
        The y of the last box's top, and the list of the places (x, y) where cross-attention takes
        the encoder's output.
    """
    cross = []
    canvas.text(x, BOTTOM - 0.42, text, 9.5)
    canvas.arrow((x, BOTTOM - 0.3), (x, BOTTOM))
    details = f"{stack.vocabulary:,} ids, × {stack.scale:.4g}"
    y = canvas.box(x, BOTTOM, "Embedding", "embedding", details)
    if stack.positions:
        y = draw_positions(canvas, x, y, side, stack.positions)
    for count, layers in stack.groups:
        bottom = y + GAP / 2
        top = bottom + sum(map(sublayer_height, layers)) + 2 * PAD
        left = x - BOX / 2 - (SKIP + 0.14 if side < 0 else 0.18)
        width = BOX + SKIP + 0.32
        canvas.rounded(left, bottom, width, top - bottom, COLORS["frame"], 0.2, "#b4b9c0")
        outside = left - 0.28 if side < 0 else left + width + 0.28
        canvas.text(outside, (bottom + top) / 2, f"{count} ×", 12)
        canvas.line((x, y), (x, bottom + PAD))
        y = bottom + PAD
        for layer in layers:
            y = draw_sublayer(canvas, x, y, side, layer, cross)
        canvas.line((x, y), (x, top))
        y = top
    if stack.final_norm:
        canvas.arrow((x, y), (x, y + GAP))
        y = canvas.box(x, y + GAP, "Norm", "norm")
    return y, cross


def draw_positions(canvas, x, y, side, kind):
    """Draws the sum of embedding and positions. Returns the y of its top."""
    middle, radius = y + GAP + 0.1, 0.2
    place = x + side * (BOX / 2 - 0.1)
    canvas.line((x, y), (x, middle - 0.1))
    canvas.sum(x, middle)
    draw = {"sinusoidal": canvas.wave, "learned": canvas.table}[kind]
    draw(place, middle, radius)
    canvas.line((place - side * radius, middle), (x + side * 0.1, middle))
    name = {"sinusoidal": "sinusoids", "learned": "learned\npositions"}[kind]
    align = {"ha": "left" if side > 0 else "right"}
    canvas.text(place + side * 0.27, middle, name, 8, **align)
    return middle + 0.1


def draw_sublayer(canvas, x, y, side, layer, cross):
    """Draws a sub-layer with its norm and residual connection. Returns the y of its top.

    The places where cross-attention takes the encoder's output are added to `cross`.
    """
    start = y + 0.1
    for name, title in boxes_of(layer):
        if name == "layer":
            y = draw_inputs(canvas, x, y, layer, cross)
            y = canvas.box(x, y, title, layer.kind, layer.details)
            continue
        canvas.arrow((x, y), (x, y + GAP))
        if name == "add":
            turn, middle = x + side * (BOX / 2 + SKIP), y + GAP + LOW / 2
            edge = x + side * BOX / 2
            canvas.arrow((x, start), (turn, start), (turn, middle), (edge, middle))
        y = canvas.box(x, y + GAP, title, "norm")
    return y


def draw_inputs(canvas, x, y, layer, cross):
    """Draws the arrows into a sub-layer. Returns the y of the box's bottom."""
    if not layer.kind.endswith("attention"):
        canvas.arrow((x, y), (x, y + GAP))
        return y + GAP
    bottom, fork = y + GAP + FORK, y + GAP + 0.08
    if layer.kind == "cross-attention":
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
    """Draws the line from the encoder's output to every cross-attention."""
    turn, middle = top + 0.3, (ENCODER + DECODER) / 2 - 0.05
    if places:
        canvas.line((ENCODER, top), (ENCODER, turn), (middle, turn))
    for x, y in places:
        canvas.line((middle, turn), (middle, y), (x, y))


def draw_output(canvas, y):
    """Draws the projection to the vocabulary, above the decoder."""
    for title, color in (("Linear", "linear"), ("Softmax", "softmax")):
        canvas.arrow((DECODER, y), (DECODER, y + GAP))
        y = canvas.box(DECODER, y + GAP, title, color)
    canvas.arrow((DECODER, y), (DECODER, y + GAP))
    canvas.text(DECODER, y + GAP + 0.14, "probabilities of the next token", 9.5)
