"""Plots the share of right words and the number of words over confidence."""

from matplotlib.ticker import PercentFormatter

from t2t_keras.visualization.curves import COLORS
from t2t_keras.visualization.images import GRAY, image, style_axes


def calibration_plot(path, bins):
    """Draws the bins of a calibration.

    Args:
        path: path of the PNG file, or a binary file object.
        bins: a list of `Bin`s.
    """
    with image(path, 11, 4.2, layout="constrained") as figure:
        shares, counts = figure.subplots(1, 2, width_ratios=(3, 2))
        draw_shares(shares, bins)
        draw_bars(counts, bins, [each.words for each in bins])
        style_axes(counts, "number of words")
        counts.yaxis.set_major_formatter("{x:,.0f}")
        for ax in (shares, counts):
            ax.set_xlim(0, 1)
            ax.set_xlabel("confidence")
            ax.xaxis.set_major_formatter(PercentFormatter(1))
            ax.set_axisbelow(True)


def draw_shares(ax, bins):
    """Draws the share of right words in each bin, and the diagonal of perfect calibration."""
    draw_bars(ax, bins, [each.right for each in bins], alpha=0.35)
    ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1.2, linestyle=(0, (4, 3)), label="calibrated")
    points = [each.confidence for each in bins], [each.right for each in bins]
    ax.plot(*points, color=COLORS[1], linewidth=1.8, marker="o", markersize=5, label="measured")
    style_axes(ax, "share of right words")
    ax.set_ylim(0, 1.02)
    ax.yaxis.set_major_formatter(PercentFormatter(1))
    ax.legend(loc="upper left", frameon=False, fontsize=9)


def draw_bars(ax, bins, heights, alpha=1.0):
    lows, widths = [each.low for each in bins], [each.high - each.low for each in bins]
    ax.bar(lows, heights, widths, align="edge", color=COLORS[0], alpha=alpha, edgecolor="white")
