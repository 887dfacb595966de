"""Plots of measures over text length: a panel for each measure, a line for each system."""

from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullLocator

from t2t_keras.visualization.curves import COLORS
from t2t_keras.visualization.images import image, style_axes


def by_length(path, panels):
    """Draws panels side by side.

    Args:
        path: path of the PNG file, or a binary file object.
        panels: {title: (lines, whether the y axis is logarithmic)}. `lines` is
            {name of the system: {length: value}}.
    """
    names = list(dict.fromkeys(name for lines, _ in panels.values() for name in lines))
    styles = {
        name: {"color": COLORS[i % len(COLORS)], "marker": "o", "markersize": 4}
        for i, name in enumerate(names)
    }
    with image(path, 3.6 * len(panels), 3.8, layout="constrained") as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for ax, (title, (lines, logarithmic)) in zip(axes, panels.items(), strict=True):
            style_axes(ax, title)
            for name, points in lines.items():
                ax.plot(points.keys(), points.values(), linewidth=1.6, **styles[name])
            ax.set_xscale("log", base=2)
            ticks = sorted({length for points in lines.values() for length in points})
            ax.set_xticks(ticks, [f"{length:,.0f}" for length in ticks])
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xlabel("tokens")
            if logarithmic:
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
            else:
                ax.set_ylim(bottom=0)
        handles = [Line2D([], [], **styles[name]) for name in names]
        legend = figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
