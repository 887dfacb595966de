"""Panels: the same name has the same color everywhere; what cannot be drawn is left out."""

import io

import pytest
from matplotlib.figure import Figure

from t2t_keras.evaluation.calibration import calibration
from t2t_keras.runs.reporting.translation_sections import confidence_panels
from t2t_keras.visualization.panels import Panel, draw_panels
from t2t_keras.visualization.scores_over_costs import Point, scores_over_costs


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved, in place of files."""
    figures = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    return figures


def names_in_legend(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_a_name_has_one_color_in_all_panels_and_nan_is_left_out(figures):
    options = {"x_label": "n", "log_x": True, "log_y": True}
    line = {64: 1.0, 128: 0.0, 256: float("nan"), 512: 9.0}
    second = Panel("two", {"none": {1: float("inf")}, "b": line}, **options, faint={"c": line})
    draw_panels(None, [Panel("one", {"a": line, "b": {64: 3.0, 512: 3.0}}, **options), second])
    one, two = figures[0].axes
    looks = [[(line.get_color(), line.get_linewidth()) for line in ax.lines] for ax in (one, two)]
    assert looks == [[("#0072b2", 1.6), ("#d55e00", 1.6)], [("#009e73", 1), ("#d55e00", 1.6)]]
    assert one.lines[0].get_xdata().tolist() == [64, 512] == one.get_xticks().tolist()
    assert names_in_legend(figures[0]) == ["a", "b", "c"]


def test_panels_of_one_scale_show_the_same_range(figures):
    panel = Panel("a", {"a": {0: 1.0, 2: 2.0}}, "n", log_y=True, scale="shared")
    draw_panels(None, [panel, panel._replace(lines={"a": {0: 1.0, 6: 1e6}})])
    ranges = [(ax.get_xlim(), ax.get_ylim()) for ax in figures[0].axes]
    assert ranges[0] == ranges[1]
    (left, right), (low, high) = ranges[0]
    assert left <= 0 < 6 <= right and low < 1 < 1e6 < high


def test_exponents_are_written_without_overlap(figures):
    lines = {name: {64: 0.0, 128: 16.0, 256: 65.0} for name in "ab"}
    fits = {"a": (2.0, 1e-3), "b": (2.01, 1e-3)}
    draw_panels(None, [Panel("s", lines, "n", True, True, joined=False, fits=fits)])
    lower, higher = figures[0].axes[0].texts
    assert (lower.get_text(), higher.get_text()) == ("2.00", "2.01")
    assert lower.xyann[1] == 0 and higher.xyann[1] > 4, "points above the end of the line"


def test_each_bin_of_words_has_a_bar(figures):
    draw_panels(None, confidence_panels(calibration([0.55, 0.95, 0.96], [True, False, True]).bins))
    shares, counts = figures[0].axes
    assert [bar.get_height() for bar in shares.patches] == [100, 50]
    assert [bar.get_height() for bar in counts.patches] == [1, 2]
    assert [bar.get_x() for bar in counts.patches] == [50, 90]


def test_without_data_a_panel_says_so(figures):
    draw_panels(None, [Panel("loss", {"a": {1: float("nan")}}, "step")])
    assert figures[0].axes[0].texts[0].get_text() == "not recorded"


def test_color_marker_filling_and_size_tell_points_apart_and_sizes_are_joined(figures):
    points = [
        Point(system, kind, is_filled, is_large, (10.0 + is_large, 5.0), 30.0 + is_large)
        for system in ("big", "small")
        for kind in ("one", "other")
        for is_filled in (True, False)
        for is_large in (True, False)
    ]
    scores_over_costs(None, {"test": points}, ["ms", "MB"], "BLEU", list("abcd"))
    drawn, _ = (ax.lines for ax in figures[0].axes)
    marked = [line for line in drawn if line.get_marker() != "None"]
    looks = {
        (line.get_color(), line.get_marker(), line.get_fillstyle(), line.get_markersize())
        for line in marked
    }
    assert len(looks) == len(marked) == len(points)
    joined = [line for line in drawn if line.get_marker() == "None"]
    assert [line.get_xdata().tolist() for line in joined] == [[11.0, 10.0]] * 8
    assert names_in_legend(figures[0]) == ["big", "small", "one", "other", *"abcd"]


@pytest.mark.parametrize(("costs", "kind"), [([2.0, 3.0], "linear"), ([2.0, 30.0], "log")])
def test_the_axis_is_logarithmic_if_the_costs_differ_much(figures, costs, kind):
    points = [Point("a", "b", True, True, (cost,), 1.0) for cost in costs]
    scores_over_costs(io.BytesIO(), {"test": points}, ["ms"], "BLEU", list("abcd"))
    assert figures[0].axes[0].get_xscale() == kind
