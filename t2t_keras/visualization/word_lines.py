"""Attention of single heads as lines between words, as in the paper's appendix."""

from typing import Any, NamedTuple

import numpy as np

from t2t_keras.visualization.heat_maps import room_for, shortened
from t2t_keras.visualization.images import COLORS, GRAY, image

# Sizes in inches.
COLUMN = 0.31  # width of a word's column
LINES = 1.25  # height of the lines between the two rows of words
TITLE = 0.4  # height of a title and of the space around it
MARGIN = 0.25
POINTS = 10  # font size of the words
FAINTEST = 0.02  # smaller weights are not drawn


class Drawing(NamedTuple):
    """A sentence with the attention of one head."""

    title: str
    words: list
    weights: Any  # `[words, words]`; row i has the weights of word i
    queries: list | None = None  # indices of the words whose weights are drawn; None: all
    links: tuple = ()  # (query, key) pairs of words to mark: the links that were looked for


def word_lines(path, drawings):
    """Draws sentences below each other. Lines lead from a word, below, to the words it looks at.

    The darker a line, the larger the weight. Marked words have the color of the lines.
    """
    words = [[shortened(word) for word in drawing.words] for drawing in drawings]
    room = max(room_for(each, POINTS) for each in words)  # height of a rotated word
    height = TITLE + LINES + 2 * room
    longest = max(max(map(len, words)), 14)
    full = longest * COLUMN + 2 * MARGIN, len(drawings) * height + 0.1
    with image(path, *full) as figure:
        for index, (drawing, texts) in enumerate(zip(drawings, words, strict=True)):
            bottom = full[1] - (index + 1) * height
            box = MARGIN / full[0], bottom / full[1], 1 - 2 * MARGIN / full[0], height / full[1]
            ax = figure.add_axes(box)
            ax.set(xlim=(-0.5, longest - 0.5), ylim=(-room, LINES + room + TITLE))
            ax.axis("off")
            draw(ax, drawing, texts, room, COLORS[index % len(COLORS)])


def draw(ax, drawing, words, room, color):
    weights = np.asarray(drawing.weights)
    queries = range(len(words)) if drawing.queries is None else drawing.queries
    ax.text(-0.4, LINES + room + 0.08, drawing.title, fontsize=11, parse_math=False)
    for query in queries:
        for key in np.argsort(weights[query]):  # large weights last, on top
            weight = float(weights[query, key])
            if weight >= FAINTEST:
                style = {"linewidth": 0.6 + 3 * weight, "alpha": min(1, 0.1 + 0.9 * weight)}
                ends = [query, key], [0, LINES]
                ax.plot(*ends, color=color, solid_capstyle="round", **style)
    below, above = ({link[end] for link in drawing.links} for end in (0, 1))
    for y, side, marked in ((-0.06, "top", below), (LINES + 0.06, "bottom", above)):
        for place, word in enumerate(words):
            style = {"color": color, "weight": "bold"} if place in marked else {"color": GRAY}
            options = {"rotation": 90, "ha": "center", "va": side, "parse_math": False, **style}
            ax.text(place, y, word, fontsize=POINTS, **options)
