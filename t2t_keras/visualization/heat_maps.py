"""The heads of a sub-layer as heat maps, side by side in one image."""

import math
import unicodedata

import numpy as np
from matplotlib.colors import PowerNorm

from t2t_keras.visualization.images import GREY, LIGHT_GREY, image

ACROSS = 4  # heads in a row
# Inches: of a word's row or column, and of a heat map's longer side.
CELL, SHORTEST, LONGEST = 0.2, 1.8, 11.0
TITLE, HEAD_TITLE, BETWEEN, BAR = 0.45, 0.3, 0.2, 0.12
LONGEST_WORD = 18  # characters


def heat_maps(path, weights, looking, looked_at, title):
    """Draws every head: a row for each word that looks, a column for each that is looked at.

    Args:
        path: of the PNG file.
        weights: `[heads, looking, looked_at]`.
        looking, looked_at: the words.
        title: what stands above.
    """
    heads, rows, columns = np.shape(weights)
    longer = max(rows, columns)
    cell = min(max(CELL, SHORTEST / longer), LONGEST / longer)
    points = min(max(45 * cell, 3), 11)
    looking, looked_at = ([shortened(word) for word in words] for words in (looking, looked_at))
    left, below = (room_for(words, points) for words in (looking, looked_at))

    # The sizes are known, so that the places are worked out here: cells of one size everywhere.
    across, down = min(heads, ACROSS), math.ceil(heads / ACROSS)
    width, height = cell * columns, cell * rows
    step = width + BETWEEN, HEAD_TITLE + height + below
    full = left + across * step[0] + BAR + 0.7, TITLE + down * step[1] + 0.1
    with image(path, *full) as figure:

        def axes(x, y, width, height):
            """Axes at so many inches from the left and from the top."""
            place = x / full[0], 1 - (y + height) / full[1]
            return figure.add_axes((*place, width / full[0], height / full[1]))

        figure.text(left / full[0], 1 - 0.3 / full[1], title, fontsize=13, parse_math=False)
        for head in range(heads):
            row, column = divmod(head, across)
            ax = axes(left + column * step[0], TITLE + row * step[1] + HEAD_TITLE, width, height)
            # In long sentences small weights matter, so colours go by the square root.
            picture = ax.imshow(weights[head], cmap="Blues", norm=PowerNorm(0.5, 0, 1))
            ax.set_title(f"head {head + 1}", fontsize=10, color=GREY, loc="left", pad=4)
            words = {"fontsize": points, "parse_math": False}
            ax.set_xticks(range(columns), looked_at, rotation=90, **words)
            ax.set_yticks(range(rows), [""] * rows if column else looking, **words)
            ax.tick_params(length=0, pad=2)
            ax.spines[:].set_color(LIGHT_GREY)
        x, y = left + across * step[0], TITLE + HEAD_TITLE
        legend(figure, picture, axes(x, y, BAR, min(height, 3)))


def legend(figure, picture, ax):
    bar = figure.colorbar(picture, cax=ax)
    bar.set_ticks([0, 0.05, 0.25, 0.5, 1], labels=["0", "5 %", "25 %", "50 %", "100 %"])
    ax.tick_params(labelsize=8, labelcolor=GREY, length=0)
    bar.outline.set_visible(False)


def shortened(word):
    return word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…"


def room_for(words, points):
    """Inches that the longest of the words takes, and a little more."""
    wide = {"W", "F"}  # as Chinese characters are
    ems = [sum(1.05 if unicodedata.east_asian_width(c) in wide else 0.68 for c in w) for w in words]
    return max(ems) * points / 72 + 0.12
