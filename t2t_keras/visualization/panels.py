"""Plots in panels side by side, with one legend: lines, points, bars and matrices."""

import math
from typing import Any, NamedTuple

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from t2t_keras.visualization.images import COLORS, GRAY, LIGHT_GRAY, image

PER_ROW = 3  # maximum number of panels in a row
MARKERS = "osD^vP*X"
DASHES = ["-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1))]
MANY = 30  # lines with more points have no markers
FAINT = {"linewidth": 1, "alpha": 0.45}
WIDE = 1e4  # log axes spanning more than this ratio get no ticks at 2 and 5, for lack of room
AXES = 2.6  # approximate height of a panel's axes, in inches


class Panel(NamedTuple):
    """A panel of a plot.

    Args:
        title: title of the panel, with the unit of y.
        lines: {name: {x: y}} or {name: list of (x, y)}. NaN and infinities are not drawn, nor is 0
            on a logarithmic axis.
        x_label: label of the x axis.
        log_x: use a logarithmic x axis, with a tick at every x if they are whole numbers.
        log_y: use a logarithmic y axis.
        joined: draw lines between the points.
        ticks: {x: label} for the x axis. If None, the ticks are numbers.
        bands: {name: {x: (lowest y, highest y)}}, shaded around the lines of these names.
        scale: name of a pair of axes. Panels with the same name show the same ranges of x and y.
            None: the panel has its own ranges.
        fits: {name: (exponent, factor)}: curves factor · x^exponent through the points of `lines`,
            with the exponent at their ends.
        faint: {name: {x: y}}, further lines, thinner and paler than `lines`.
        bars: list of (left, right, height).
        matrix: values from −1 to 1, `[rows, columns]`, drawn as colors instead of lines.
        y_label: label of the y axis.
        marks: {label: x} of dotted vertical lines.
    """

    title: str
    lines: dict
    x_label: str
    log_x: bool = False
    log_y: bool = False
    joined: bool = True
    ticks: dict | None = None
    bands: dict = {}
    scale: str | None = None
    fits: dict = {}
    faint: dict = {}
    bars: list = ()
    matrix: Any = None
    y_label: str | None = None
    marks: dict = {}


def draw_panels(path, panels, size=(4.4, 3.4), columns=None, styles=None, legend=None, faint=None):
    """Draws panels. Lines with the same name look the same in all of them.

    Args:
        path: path of the PNG file, or a binary file object.
        panels: a list of `Panel`s.
        size: width and height of a panel in inches.
        columns: number of panels in a row. None: up to three.
        styles: {name: options of matplotlib's `Line2D`}. None: a color and a marker for each name.
        legend: {text: options}. None: the names, except "".
        faint: text in the legend for all faint lines.
    """
    panels = [with_drawable_lines(panel) for panel in panels]
    styles = styles or styles_of(panels)
    if legend is None:
        legend = {name: {"markersize": 5, **style} for name, style in styles.items() if name}
    if faint and any(panel.faint for panel in panels):
        legend[faint] = {"color": GRAY, **FAINT}
    columns = columns or (2 if len(panels) == 4 else min(len(panels), PER_ROW))
    rows = math.ceil(len(panels) / columns)
    lines_of_legend = math.ceil(len(legend) / 4)
    full = size[0] * columns, size[1] * rows + 0.25 * (lines_of_legend + 1) * bool(legend)
    with image(path, *full, layout="constrained") as figure:
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for panel, ax in zip(panels, axes, strict=False):
            draw(ax, panel, styles)
        for shared in {panel.scale for panel in panels} - {None}:
            pairs = zip(panels, axes, strict=False)
            share_ranges([ax for panel, ax in pairs if panel.scale == shared])
        for ax in axes[len(panels) :]:
            ax.set_visible(False)
        if legend:
            handles = [Line2D([], [], **options) for options in legend.values()]
            place = {"loc": "outside lower center", "ncols": 4}
            shown = figure.legend(handles, list(legend), frameon=False, fontsize=10, **place)
            for text in shown.get_texts():
                text.set_parse_math(False)


def with_drawable_lines(panel):
    """Returns the panel without points that cannot be drawn, and without empty lines."""

    def drawable(lines):
        lowest = 0 if panel.log_y else -math.inf
        points = {}
        for name, line in lines.items():
            pairs = line.items() if isinstance(line, dict) else line
            points[name] = [(x, y) for x, y in pairs if lowest < y < math.inf]
        return {name: line for name, line in points.items() if line}

    return panel._replace(lines=drawable(panel.lines), faint=drawable(panel.faint))


def styles_of(panels):
    names = dict.fromkeys(name for panel in panels for name in (*panel.lines, *panel.faint))
    return {
        name: {
            "color": COLORS[i % len(COLORS)],
            "marker": MARKERS[i % len(MARKERS)],
            "linestyle": DASHES[i // len(COLORS) % len(DASHES)],
        }
        for i, name in enumerate(names)
    }


def draw(ax, panel, styles):
    style_axes(ax, panel.title)
    ax.set_xlabel(panel.x_label)
    ax.set_ylabel(panel.y_label or "")
    if panel.matrix is not None:
        draw_matrix(ax, panel.matrix)
        return
    points = {} if panel.joined else {"linestyle": "none"}
    for lines, most, look in ((panel.faint, 1, FAINT), (panel.lines, MANY, points)):
        for name, line in lines.items():
            style = {"markersize": 4.5, "linewidth": 1.6, **styles[name], **look}
            style |= {} if len(line) <= most else {"marker": None}
            ax.plot(*zip(*line, strict=True), **style)
    for name, band in panel.bands.items():
        limits = zip(*band.values(), strict=True)
        ax.fill_between(list(band), *limits, color=styles[name]["color"], alpha=0.2, linewidth=0)
    for left, right, height in panel.bars:
        bar = {"color": COLORS[0], "alpha": 0.4, "edgecolor": "white"}
        ax.bar(left, height, right - left, align="edge", **bar)
    for label, x in panel.marks.items():
        ax.axvline(x, color=GRAY, linewidth=1, linestyle=":")
        write(ax, label, (x, ax.get_ylim()[0]), (-4, 4), ha="right", color=GRAY)
    set_ticks(ax, panel)
    if panel.fits:
        draw_fits(ax, panel, styles)
    elif not ax.has_data():
        ax.set(xticks=[], yticks=[], xlabel="")
        ax.text(0.5, 0.5, "not recorded", color=GRAY, ha="center", transform=ax.transAxes)


def style_axes(ax, title):
    """Sets the title, and mutes frame, ticks and grid so that the lines stand out."""
    ax.set_title(title, fontsize=11, loc="left", parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LIGHT_GRAY)
    ax.tick_params(colors=GRAY, labelsize=9, length=0, which="both")
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=GRAY, fontsize=9)
    ax.grid(color=LIGHT_GRAY, linewidth=0.5, which="both", alpha=0.6)
    ax.set_axisbelow(True)


def write(ax, text, place, offset, **style):
    ax.annotate(text, place, xytext=offset, textcoords="offset points", fontsize=9, **style)


def draw_matrix(ax, matrix):
    picture = ax.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
    ax.grid(visible=False)
    bar = ax.figure.colorbar(picture, ax=ax, ticks=[-1, 0, 1], shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=8, labelcolor=GRAY, length=0)
    bar.outline.set_edgecolor(LIGHT_GRAY)


def set_ticks(ax, panel):
    xs = sorted({x for line in panel.lines.values() for x, _ in line})
    whole = all(isinstance(x, int) for x in xs)
    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=whole))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}"))
    if panel.log_x:
        ax.set_xscale("log", base=2)
        if whole:
            ax.set_xticks(xs, [f"{x:,}" for x in xs])
            ax.xaxis.set_minor_locator(NullLocator())
        else:
            set_log_ticks(ax.xaxis)
    if panel.ticks is not None:
        ax.set_xticks(list(panel.ticks), list(panel.ticks.values()))
        ax.set_xlim(min(panel.ticks) - 0.5, max(panel.ticks) + 0.5)
    if panel.log_y:
        ax.set_yscale("log")
        set_log_ticks(ax.yaxis)


def set_log_ticks(axis):
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1,) if high > WIDE * low else (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_formatter(NullFormatter())


def share_ranges(axes):
    """Gives panels the same ranges of x and y."""
    left, right = zip(*(ax.get_xlim() for ax in axes), strict=True)
    lows, highs = zip(*(ax.get_ylim() for ax in axes), strict=True)
    for ax in axes:
        ax.set_xlim(min(left), max(right))
        ax.set_ylim(min(lows), max(highs))
        if ax.get_yscale() == "log":
            set_log_ticks(ax.yaxis)


def draw_fits(ax, panel, styles):
    """Draws the fits, and their exponents at their right ends, moved up if they would overlap."""
    ends = []
    for name, (exponent, factor) in panel.fits.items():
        color = styles[name]["color"]
        line = [(x, factor * x**exponent) for x, _ in panel.lines[name]]
        ax.plot(*zip(*line, strict=True), color=color, linewidth=1.5)
        ends.append((*max(line), exponent, color))
    ax.margins(x=0.12)
    bottom, top = map(math.log, ax.get_ylim())
    free = -math.inf  # lowest height in points at which the next exponent does not overlap
    for x, y, exponent, color in sorted(ends, key=lambda end: end[1]):
        height = 72 * AXES * (math.log(y) - bottom) / (top - bottom)
        free = max(height, free + 11)
        write(ax, f"{exponent:.2f}", (x, y), (7, free - height), va="center", color=color)
