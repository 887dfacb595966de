"""How costs grow with a length: measured points and fitted powers, on logarithmic axes."""

import math

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from t2t_keras.visualization.curves import COLOURS
from t2t_keras.visualization.images import image, styled

MARKERS = "osD^v"
HEIGHT, LINE = 330, 11  # points: of a panel, about, and of a line of text


def scaling(path, panels, names):
    """Draws the panels side by side.

    Args:
        path: of the PNG file.
        panels: for each panel's title its lines: for each name the points, a dict from n to the
            cost, and the fitted (exponent, factor) or None.
        names: for each name what the legend says.
    """
    looks = {
        name: {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        for i, name in enumerate(names)
    }
    with image(path, 4.6 * len(panels), 5.8, layout="constrained") as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, (title, lines) in zip(axes, panels.items(), strict=True):
            for name, (points, fitted) in lines.items():
                draw(ax, points, fitted, looks[name])
            finish(ax, title, lines)
            write_exponents(ax, lines, looks)
        handles = [Line2D([], [], markersize=5, **looks[name]) for name in names]
        figure.legend(
            handles, names.values(), loc="outside lower center", ncols=3, frameon=False, fontsize=10
        )


def draw(ax, points, fitted, look):
    points = {n: cost for n, cost in points.items() if cost > 0}
    ax.plot(points.keys(), points.values(), linestyle="none", markersize=5, **look)
    if fitted is None:
        return
    exponent, factor = fitted
    line = {n: factor * n**exponent for n in points}
    ax.plot(line.keys(), line.values(), color=look["color"], linewidth=1.5)


def write_exponents(ax, lines, looks):
    """Behind the end of each line its exponent; those of lines that end together stand apart."""
    ends = {}
    for name, (points, fitted) in lines.items():
        if fitted is not None:
            exponent, factor = fitted
            last = max(points)
            ends[name] = last, factor * last**exponent, exponent
    bottom, top = (math.log(limit) for limit in ax.get_ylim())
    free = -math.inf
    for name, (last, cost, exponent) in sorted(ends.items(), key=lambda end: end[1][1]):
        height = HEIGHT * (math.log(cost) - bottom) / (top - bottom)
        free = max(height, free + LINE)
        ax.annotate(
            f"{exponent:.2f}",
            (last, cost),
            xytext=(7, free - height),
            textcoords="offset points",
            va="center",
            color=looks[name]["color"],
            fontsize=9,
        )


def finish(ax, title, lines):
    styled(ax, title)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ticks = sorted({n for points, _ in lines.values() for n in points})
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda cost, _: f"{cost:,g}"))
    ax.set_xlabel("n, and the exponent of n behind each line")
    ax.margins(x=0.12)
