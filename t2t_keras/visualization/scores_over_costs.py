"""Plots of a score over costs: a row of panels for each test set, a column for each cost."""

from typing import NamedTuple

from t2t_keras.visualization.images import COLORS, GRAY
from t2t_keras.visualization.panels import MARKERS, Panel, draw_panels

SMALL = 5  # size of the marker of a greedy search
LARGE = 9  # size of the marker of a beam search
WIDE = 4  # ratio of the highest to the lowest cost beyond which the axis is logarithmic


class Point(NamedTuple):
    """A measurement. Points that differ only in `is_large` are joined by a line."""

    system: str  # shown as a color
    kind: str  # of its engine, shown as a marker
    is_filled: bool  # the marker
    is_large: bool
    costs: tuple  # a number for each cost
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
    colors = dict(zip(dict.fromkeys(point.system for point in points), COLORS * 9, strict=False))
    markers = dict(zip(dict.fromkeys(point.kind for point in points), MARKERS * 9, strict=False))
    gray = {"color": GRAY, "linestyle": "none"}
    looks = ((SMALL + 2, "full"), (SMALL + 2, "none"), (SMALL, "full"), (LARGE, "full"))
    legend = {
        **{system: {"color": color, "linewidth": 3} for system, color in colors.items()},
        **{kind: {"marker": marker, **gray} for kind, marker in markers.items()},
        **{
            meaning: {"marker": "o", "markersize": size, "fillstyle": fill, **gray}
            for meaning, (size, fill) in zip(meanings, looks, strict=True)
        },
    }
    styles = {}
    for point in points:
        look = {"color": colors[point.system], "linewidth": 0.8}
        styles[(*point[:3], "joined")] = look
        styles[point[:4]] = {
            **look,
            "linestyle": "none",
            "marker": markers[point.kind],
            "fillstyle": "full" if point.is_filled else "none",
            "markersize": LARGE if point.is_large else SMALL,
        }
    panels = [
        panel(f"{score} on {name}", of_test, index, label)
        for name, of_test in tests.items()
        for index, label in enumerate(costs)
    ]
    draw_panels(path, panels, (4.8, 3.6), len(costs), styles, legend)


def panel(title, points, index, label):
    """Returns the `Panel` of the scores over the cost with an index."""
    lines = {}
    for point in points:
        for name in ((*point[:3], "joined"), point[:4]):
            lines.setdefault(name, []).append((float(point.costs[index]), point.score))
    every = [point.costs[index] for point in points]
    return Panel(title, lines, label, log_x=max(every) > WIDE * min(every))
