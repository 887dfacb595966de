"""Draws heat maps of all attention heads of a sub-layer in one image."""

import math
import unicodedata

import numpy as np
from matplotlib.colors import PowerNorm

from t2t_keras.visualization.images import GRAY, LIGHT_GRAY, image

HEADS_PER_ROW = 4
# Sizes in inches.
CELL = 0.2  # height of a row, width of a column
SHORTEST = 1.8  # minimum of the longer side of a heat map
LONGEST = 11.0  # maximum of the longer side of a heat map
TITLE = 0.45  # height of the image's title
HEAD_TITLE = 0.3  # height of a head's title
GAP = 0.2  # space between columns of heat maps
COLOR_BAR = 0.12  # width of the color bar

LONGEST_WORD = 18  # characters; longer words are cut off


def heat_maps(path, weights, queries, keys, title):
    """Draws a PNG image of `weights`, `[heads, queries, keys]`, with a heat map of each head.

    It has a row for each query and a column for each key; `queries` and `keys` are their words.
    """
    heads, rows, columns = np.shape(weights)
    longer = max(rows, columns)
    cell = min(max(CELL, SHORTEST / longer), LONGEST / longer)
    points = min(max(45 * cell, 3), 11)
    queries, keys = ([shortened(word) for word in words] for words in (queries, keys))
    left, below = (room_for(words, points) for words in (queries, keys))

    # Positions are computed here, not by matplotlib, so that all cells have the same size.
    across, down = min(heads, HEADS_PER_ROW), math.ceil(heads / HEADS_PER_ROW)
    width, height = cell * columns, cell * rows
    step = width + GAP, HEAD_TITLE + height + below
    full = left + across * step[0] + COLOR_BAR + 0.7, TITLE + down * step[1] + 0.1
    with image(path, *full) as figure:

        def axes(x, y, width, height):
            """Adds axes; all lengths are in inches, and (0, 0) is the upper left corner."""
            corner = x / full[0], 1 - (y + height) / full[1]
            return figure.add_axes((*corner, width / full[0], height / full[1]))

        figure.text(left / full[0], 1 - 0.3 / full[1], title, fontsize=13, parse_math=False)
        for head in range(heads):
            row, column = divmod(head, across)
            ax = axes(left + column * step[0], TITLE + row * step[1] + HEAD_TITLE, width, height)
            # A square-root scale keeps the small weights of long sentences visible.
            picture = ax.imshow(weights[head], cmap="Blues", norm=PowerNorm(0.5, 0, 1))
            ax.set_title(f"head {head + 1}", fontsize=10, color=GRAY, loc="left", pad=4)
            words = {"fontsize": points, "parse_math": False}
            ax.set_xticks(range(columns), keys, rotation=90, **words)
            ax.set_yticks(range(rows), [""] * rows if column else queries, **words)
            ax.tick_params(length=0, pad=2)
            ax.spines[:].set_color(LIGHT_GRAY)
        x, y = left + across * step[0], TITLE + HEAD_TITLE
        ax = axes(x, y, COLOR_BAR, min(height, 3))
        bar = figure.colorbar(picture, cax=ax)
        bar.set_ticks([0, 0.05, 0.25, 0.5, 1], labels=["0", "5 %", "25 %", "50 %", "100 %"])
        ax.tick_params(labelsize=8, labelcolor=GRAY, length=0)
        bar.outline.set_visible(False)


def shortened(word):
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


def room_for(words, points):
    """Estimates the width of the longest word with a margin, in inches."""
    wide = {"W", "F"}  # East Asian characters
    ems = [sum(1.05 if unicodedata.east_asian_width(c) in wide else 0.68 for c in w) for w in words]
    return max(ems) * points / 72 + 0.12
