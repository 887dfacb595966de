"""Lines in panels: the same name has the same color everywhere, and NaN is left out."""

import math

import pytest
from matplotlib.figure import Figure
from support.text.pictures import pixels_of

from t2t_keras.visualization.line_panels import Panel, draw, line_panels, share_ranges

BLUE, ORANGE = "0072b2", "d55e00"


def test_a_name_has_one_color_in_all_panels(tmp_path):
    options = {"x_label": "n", "log_x": True, "log_y": True}
    line = {64: 1.0, 128: 2.0, 256: float("nan"), 512: 9.0}
    first = Panel("one", {"a": line, "b": {64: 3.0, 512: 3.0}}, **options)
    line_panels(tmp_path / "one.png", [first])
    line_panels(tmp_path / "two.png", [first, Panel("two", {"b": line}, **options)])
    counts = [
        [pixels_of(tmp_path / f"{name}.png", color) for color in (BLUE, ORANGE)]
        for name in ("one", "two")
    ]
    assert min(counts[0]) > 100
    assert counts[1][0] == pytest.approx(counts[0][0], rel=0.2)
    assert counts[1][1] > 1.5 * counts[0][1]


def test_panels_of_one_scale_show_the_same_range():
    figure = Figure()
    axes = figure.subplots(1, 2)
    for ax, top in zip(axes, (2.0, 1e6), strict=True):
        draw(ax, Panel("a", {"a": {0: 1.0, math.log10(top): top}}, "n", log_y=True), {"a": {}})
    share_ranges(axes)
    assert axes[0].get_xlim() == axes[1].get_xlim()
    assert axes[0].get_xlim()[0] <= 0 < 6 <= axes[0].get_xlim()[1]
    assert axes[0].get_ylim() == axes[1].get_ylim()
    assert axes[0].get_ylim()[0] < 1 < 1e6 < axes[0].get_ylim()[1]
