"""Line plots in panels side by side, with one legend for all panels."""

import math
from typing import NamedTuple

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from t2t_keras.visualization.curves import COLORS
from t2t_keras.visualization.images import image, style_axes

PER_ROW = 3  # maximum number of panels in a row
MARKERS = "osD^vP*X"
WIDE = 1e4  # log axes spanning more than this ratio get no ticks at 2 and 5, for lack of room


class Panel(NamedTuple):
    """A panel of a plot.

    Args:
        title: title of the panel, with the unit of y.
        lines: {name: {x: y}}. NaN and infinities are not drawn.
        x_label: label of the x axis.
        log_x: use a logarithmic x axis, with a tick at every x.
        log_y: use a logarithmic y axis.
        joined: draw lines between the points.
        ticks: {x: label} for the x axis. If None, the ticks are numbers.
        bands: {name: {x: (lowest y, highest y)}}, shaded around the lines of these names.
        scale: name of a pair of axes. Panels with the same name show the same ranges of x and y.
            None: the panel has its own ranges.
    """

    title: str
    lines: dict
    x_label: str
    log_x: bool = False
    log_y: bool = False
    joined: bool = True
    ticks: dict | None = None
    bands: dict | None = None
    scale: str | None = None


def line_panels(path, panels):
    """Draws panels, up to three in a row. Lines with the same name look the same in all panels.

    Args:
        path: path of the PNG file.
        panels: a list of `Panel`s.
    """
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    styles = {
        name: {"color": COLORS[i % len(COLORS)], "marker": MARKERS[i % len(MARKERS)]}
        for i, name in enumerate(names)
    }
    columns = 2 if len(panels) == 4 else min(len(panels), PER_ROW)
    rows = math.ceil(len(panels) / columns)
    with image(path, 4.4 * columns, 3.4 * rows + 0.5, layout="constrained") as figure:
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, ax in zip(panels, axes, strict=False):
            draw(ax, panel, styles)
        for shared in {panel.scale for panel in panels} - {None}:
            share_ranges(
                [ax for panel, ax in zip(panels, axes, strict=False) if panel.scale == shared]
            )
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        handles = [Line2D([], [], markersize=5, **styles[name]) for name in names]
        legend = figure.legend(
            handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=10
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


def draw(ax, panel, styles):
    style_axes(ax, panel.title)
    for name, points in panel.lines.items():
        points = {x: y for x, y in points.items() if math.isfinite(y)}
        line = {"linewidth": 1.6} if panel.joined else {"linestyle": "none"}
        ax.plot(points.keys(), points.values(), markersize=4.5, **line, **styles[name])
        if band := (panel.bands or {}).get(name):
            ends = zip(*band.values(), strict=True)
            ax.fill_between(band.keys(), *ends, color=styles[name]["color"], alpha=0.2, linewidth=0)
    ax.set_xlabel(panel.x_label)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.7g}"))
    if panel.log_x:
        ticks = sorted({x for points in panel.lines.values() for x in points})
        ax.set_xscale("log", base=2)
        ax.set_xticks(ticks, [f"{x:,}" for x in ticks])
        ax.xaxis.set_minor_locator(NullLocator())
    if panel.ticks is not None:
        ax.set_xticks(list(panel.ticks), list(panel.ticks.values()))
        ax.set_xlim(min(panel.ticks) - 0.5, max(panel.ticks) + 0.5)
    if panel.log_y:
        ax.set_yscale("log")
        set_log_ticks(ax)


def set_log_ticks(ax):
    low, high = ax.get_ylim()
    between = (1,) if high > WIDE * low else (1, 2, 5)
    ax.yaxis.set_major_locator(LogLocator(subs=between))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def share_ranges(axes):
    """Gives panels the same ranges of x and y."""
    left, right = zip(*(ax.get_xlim() for ax in axes), strict=True)
    lows, highs = zip(*(ax.get_ylim() for ax in axes), strict=True)
    for ax in axes:
        ax.set_xlim(min(left), max(right))
        ax.set_ylim(min(lows), max(highs))
        if ax.get_yscale() == "log":
            set_log_ticks(ax)
