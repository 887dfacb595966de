"""Draws log-log plots of costs over the length n: measured points and fitted powers of n."""

import math

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from t2t_keras.visualization.curves import COLORS
from t2t_keras.visualization.images import image, style_axes

MARKERS = "osD^v"
HEIGHT = 330  # approximate height of a panel, in points
LINE = 11  # height of a line of text, in points


def scaling(path, panels, names, without_fit="no exponents"):
    """Draws panels side by side.

    Args:
        path: path of the PNG file.
        panels: {title of the panel: {name of the line: (points, fit)}}. `points` is {n: cost}.
            `fit` is (exponent, factor), or None to draw no line.
        names: {name of the line: text in the legend}.
        without_fit: text below a panel in which no line has a fit.
    """
    styles = {
        name: {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)]}
        for i, name in enumerate(names)
    }
    with image(path, 4.6 * len(panels), 5.8, layout="constrained") as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, (title, lines) in zip(axes, panels.items(), strict=True):
            for name, (points, fit) in lines.items():
                draw(ax, points, fit, styles[name])
            label_axes(ax, title, lines, without_fit)
            write_exponents(ax, lines, styles)
        handles = [Line2D([], [], markersize=5, **styles[name]) for name in names]
        figure.legend(
            handles, names.values(), loc="outside lower center", ncols=3, frameon=False, fontsize=10
        )


def draw(ax, points, fit, style):
    points = {n: cost for n, cost in points.items() if cost > 0}
    ax.plot(points.keys(), points.values(), linestyle="none", markersize=5, **style)
    if fit is None:
        return
    exponent, factor = fit
    line = {n: factor * n**exponent for n in points}
    ax.plot(line.keys(), line.values(), color=style["color"], linewidth=1.5)


def write_exponents(ax, lines, styles):
    """Writes each line's exponent at its right end; moves it up if texts would overlap."""
    ends = {}
    for name, (points, fit) in lines.items():
        if fit is not None:
            exponent, factor = fit
            last = max(points)
            ends[name] = last, factor * last**exponent, exponent
    bottom, top = (math.log(limit) for limit in ax.get_ylim())
    free = -math.inf  # lowest height at which the next text does not overlap
    for name, (last, cost, exponent) in sorted(ends.items(), key=lambda end: end[1][1]):
        height = HEIGHT * (math.log(cost) - bottom) / (top - bottom)
        free = max(height, free + LINE)
        ax.annotate(
            f"{exponent:.2f}",
            (last, cost),
            xytext=(7, free - height),
            textcoords="offset points",
            va="center",
            color=styles[name]["color"],
            fontsize=9,
        )


def label_axes(ax, title, lines, without_fit):
    style_axes(ax, title)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ticks = sorted({n for points, _ in lines.values() for n in points})
    ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda cost, _: f"{cost:,g}"))
    has_fit = any(fit is not None for _, fit in lines.values())
    ax.set_xlabel(f"n; {'at the end of each line, its exponent' if has_fit else without_fit}")
    ax.margins(x=0.12)
