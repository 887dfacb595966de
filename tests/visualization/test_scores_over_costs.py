"""Scatter plots of scores over costs: colors, markers, lines, and the scale of the axes."""

import pytest
from matplotlib.figure import Figure

from t2t_keras.visualization.scores_over_costs import Point, draw, scale, scores_over_costs

COLORS, MARKERS = {"big": "blue", "small": "red"}, {"one": "o", "other": "s"}
POINTS = [
    Point(system, kind, is_filled, is_large, (10.0 + is_large, 5.0), 30.0 + is_large)
    for system in COLORS
    for kind in MARKERS
    for is_filled in (True, False)
    for is_large in (True, False)
]


def test_color_marker_filling_and_size_tell_the_points_apart():
    ax = Figure().subplots()
    draw(ax, POINTS, 0, COLORS, MARKERS)
    points = [line for line in ax.lines if line.get_marker() != "None"]
    looks = {
        (line.get_color(), line.get_marker(), line.get_fillstyle(), line.get_markersize())
        for line in points
    }
    assert len(looks) == len(points) == len(POINTS)


def test_points_that_differ_only_in_size_are_joined():
    ax = Figure().subplots()
    draw(ax, POINTS, 0, COLORS, MARKERS)
    lines = [line for line in ax.lines if line.get_marker() == "None"]
    assert len(lines) == len(POINTS) // 2
    assert all(list(line.get_xdata()) == [11.0, 10.0] for line in lines)


@pytest.mark.parametrize(("costs", "kind"), [([2.0, 3.0], "linear"), ([2.0, 30.0], "log")])
def test_the_axis_is_logarithmic_if_the_costs_differ_much(costs, kind):
    ax = Figure().subplots()
    scale(ax, costs)
    assert ax.get_xscale() == kind


def test_names_with_a_dollar_sign_are_drawn_as_they_are(tmp_path):
    point = Point("a$b$^", "one", True, True, (1.0, 2.0), 3.0)
    scores_over_costs(
        tmp_path / "a.png", {"x$_$": [point]}, ["ms", "MB"], "BLEU", ["a", "b", "c", "d"]
    )
    assert (tmp_path / "a.png").stat().st_size > 1000
