"""Scatter plots of a score over costs: a row for each test set, a column for each cost."""

from typing import NamedTuple

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from t2t_keras.visualization.curves import COLORS
from t2t_keras.visualization.images import GRAY, image, style_axes

MARKERS = "osD^vP*X"
SMALL = 5  # size of a marker
LARGE = 9  # size of a marker that stands out
WIDE = 4  # ratio of the highest to the lowest cost beyond which the axis is logarithmic


class Point(NamedTuple):
    """A measurement.

    Args:
        system: name of the system, shown as a color.
        kind: name of its engine, shown as a marker.
        is_filled: whether the marker is filled.
        is_large: whether the marker is large. Points that differ only in this are joined by a line.
        costs: a number for each cost.
        score: the score.
    """

    system: str
    kind: str
    is_filled: bool
    is_large: bool
    costs: tuple
    score: float


def scores_over_costs(path, tests, costs, score, meanings):
    """Draws the points of several test sets.

    Args:
        path: path of the PNG file, or a binary file object.
        tests: {name of the test set: list of `Point`s}.
        costs: labels of the x axes, one for each of a point's costs.
        score: name of the score.
        meanings: texts for filled, empty, small and large markers, in this order.
    """
    points = [point for of_test in tests.values() for point in of_test]
    systems = list(dict.fromkeys(point.system for point in points))
    kinds = list(dict.fromkeys(point.kind for point in points))
    colors = {name: COLORS[index % len(COLORS)] for index, name in enumerate(systems)}
    markers = {name: MARKERS[index % len(MARKERS)] for index, name in enumerate(kinds)}
    width, height = 4.8 * len(costs), 3.6 * len(tests) + 0.9
    with image(path, width, height, layout="constrained") as figure:
        axes = figure.subplots(len(tests), len(costs), squeeze=False)
        for row, (name, of_test) in zip(axes, tests.items(), strict=True):
            for index, ax in enumerate(row):
                draw(ax, of_test, index, colors, markers)
                style_axes(ax, "")
                title = f"{score} on {name}"
                ax.set_title(title, fontsize=11, loc="left", parse_math=False)
                ax.set_xlabel(costs[index])
                scale(ax, [point.costs[index] for point in of_test])
        handles = [Line2D([], [], color=color, linewidth=3) for color in colors.values()]
        gray = {"color": GRAY, "linestyle": "none"}
        handles += [Line2D([], [], marker=marker, **gray) for marker in markers.values()]
        handles += [
            Line2D([], [], marker="o", markersize=size, fillstyle=fill, **gray)
            for size, fill in ((7, "full"), (7, "none"), (SMALL, "full"), (LARGE, "full"))
        ]
        legend = figure.legend(
            handles,
            [*systems, *kinds, *meanings],
            loc="outside lower center",
            ncols=min(4, len(handles)),
            frameon=False,
            fontsize=9,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


def draw(ax, points, index, colors, markers):
    """Draws the points over the cost of this index, and the lines that join them."""
    joined = {}
    for point in points:
        x = point.costs[index]
        ax.plot(
            [x],
            [point.score],
            marker=markers[point.kind],
            markersize=LARGE if point.is_large else SMALL,
            fillstyle="full" if point.is_filled else "none",
            color=colors[point.system],
            zorder=3,
        )
        key = point.system, point.kind, point.is_filled
        joined.setdefault(key, []).append((x, point.score))
    for (system, _, _), ends in joined.items():
        ax.plot(*zip(*ends, strict=True), color=colors[system], linewidth=0.8, alpha=0.6)


def scale(ax, costs):
    """Makes the x axis logarithmic if the costs differ much; otherwise it starts at 0."""
    if max(costs) <= WIDE * min(costs):
        ax.set_xlim(left=0)
        return
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
