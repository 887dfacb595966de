"""Figure 2 of the paper: the scores of one head, and the heads of multi-head attention."""

from t2t_keras.visualization.diagrams.diagram_parts import HIGH, LOW

# Sizes in inches, relative to the left side of the figure.
GAP = 0.28
HEAD = 1.2  # x of the center of a single head's diagram
HEADS = 3.9  # x of the center of the diagram of all heads
SMALL = 1.45  # width of the small boxes
APART = 0.72  # distance between the boxes of V, K and Q
HEIGHT = 6.2  # of the tallest figure, with its title
# {kind of scores: titles of the boxes from bottom to top, after the names of the inputs}
SCORES = {
    "scaled": ["MatMul", "Scale"],
    "unscaled": ["MatMul"],
    "additive": ["Add", "tanh", "Product with v"],
}
TITLES = {
    "scaled": "Scaled Dot-Product Attention",
    "unscaled": "Dot-Product Attention",
    "additive": "Additive Attention",
}


def draw_attention(canvas, left, height, attention):
    """Draws one head, and beside it all heads, on a canvas of a height."""
    title = TITLES.get(attention.attention, attention.attention)
    bottom = (height - (len(boxes_of(attention)) + 1) * (LOW + GAP) - 1.6) / 2
    top = draw_head(canvas, left + HEAD, bottom, attention)
    top = max(top, draw_heads(canvas, left + HEADS, bottom, attention, title))
    for x, text in ((HEAD, title), (HEADS, "Multi-Head Attention")):
        canvas.text(left + x, top + 0.35, text, 11)


def boxes_of(attention):
    """Returns the titles of a head's boxes from bottom to top, except the last product."""
    scores = SCORES.get(attention.attention, [attention.attention])
    rotation = ["Rotate"] * (attention.encode_heads is not None)
    bias = ["Relative bias"] * (attention.relative_bias is not None)
    return [*rotation, *scores, *bias, "Mask (opt.)", "SoftMax"]


def draw_head(canvas, x, bottom, attention):
    """Draws the attention of one head. Returns the y of its top."""
    colors = {"SoftMax": "softmax", "Scale": "norm", "Mask (opt.)": "embedding"}
    y = bottom + 0.45
    left, right = x - 0.5, x + 0.8
    for name, place in (("Q", left - 0.3), ("K", left + 0.3), ("V", right)):
        canvas.text(place, bottom + 0.2, name, 10.5)
    for place in (left - 0.3, left + 0.3):
        canvas.arrow((place, y - 0.12), (place, y + GAP))
    for index, title in enumerate(boxes_of(attention)):
        if index:
            canvas.arrow((left, y), (left, y + GAP))
        y = canvas.box(left, y + GAP, title, colors.get(title, "linear"), width=SMALL)
    values, middle = y + GAP, (left + right) / 2
    canvas.arrow((left, y), (left, values))
    canvas.arrow((right, bottom + 0.33), (right, values))
    top = canvas.box(middle, values, "MatMul", "linear", width=right - left + 0.8)
    canvas.arrow((middle, top), (middle, top + GAP))
    return top + GAP


def draw_heads(canvas, x, bottom, attention, title):
    """Draws all heads. Returns the y of the top."""
    y = bottom + 0.45
    for name, place in (("V", -APART), ("K", 0), ("Q", APART)):
        width = attention.d_v if name == "V" else attention.d_k
        canvas.text(x + place, bottom + 0.2, name, 10.5)
        canvas.arrow((x + place, y - 0.12), (x + place, y + GAP))
        copies = min(attention.num_heads, 3)
        canvas.box(x + place, y + GAP, "Linear", "linear", f"to {width}", 0.6, copies)
    top = y + GAP + HIGH
    y = top + 0.5
    for place in (-APART, 0, APART):
        canvas.arrow((x + place, top), (x + place, y))
    wide = 2 * APART + 0.7
    top = canvas.box(x, y, title, "attention", "", wide, copies)
    canvas.text(x + wide / 2 + 0.42, y + LOW / 2, f"h = {attention.num_heads}", 9)
    y = top + 0.5
    for place in (-APART, 0, APART):
        canvas.arrow((x + place, top), (x + place, y))
    joined = f"{attention.num_heads} · {attention.d_v} to d_model"
    for name, color, details in (("Concat", "norm", ""), ("Linear", "linear", joined)):
        top = canvas.box(x, y, name, color, details, 2 * APART + 0.3)
        y = top + GAP
        canvas.arrow((x, top), (x, y))
    return y
