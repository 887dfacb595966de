"""Pictures are drawn with a line or a mark for each name, whatever the words."""

import io

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure
from support.models.attention_weights import ODD_WORDS, random_weights
from support.text.pictures import pixels_of

from t2t_keras.evaluation.calibration import calibration
from t2t_keras.visualization.calibration import calibration_plot
from t2t_keras.visualization.heat_maps import heat_maps
from t2t_keras.visualization.images import image
from t2t_keras.visualization.scaling import scaling
from t2t_keras.visualization.scores_over_costs import Point, draw, scale, scores_over_costs
from t2t_keras.visualization.word_lines import Drawing, word_lines

BLUE, ORANGE = "0072b2", "d55e00"
WORDS = ["$x_1$", "\\frac", "", "W" * 40]


def test_an_image_has_its_size_and_restores_global_settings():
    before, file = dict(matplotlib.rcParams), io.BytesIO()
    with image(file, 3, 2, dpi=50) as figure:
        figure.text(0.5, 0.5, "text")
    file.seek(0)
    assert matplotlib.image.imread(file).shape[:2] == (100, 150)
    assert dict(matplotlib.rcParams) == before


def test_each_bin_of_words_has_a_bar(tmp_path):
    for name, confidence in {"one": [0.55], "many": np.linspace(0, 1, 30)}.items():
        bins = calibration(confidence, np.ones(len(confidence))).bins
        calibration_plot(tmp_path / f"{name}.png", bins)
    for color, factor in ((BLUE, 5), (ORANGE, 2)):
        one, many = (pixels_of(tmp_path / f"{name}.png", color) for name in ("one", "many"))
        assert many > factor * one > 0


def test_words_of_any_script_are_drawn_without_a_warning(tmp_path):
    weights = random_weights(len(ODD_WORDS), len(ODD_WORDS))[0]
    heat_maps(tmp_path / "a.png", weights, ODD_WORDS, ODD_WORDS, "a $title_ {")
    word_lines(tmp_path / "b.png", [Drawing("$a$", WORDS, np.full((4, 4), 0.25))])
    point = Point("a$b$^", "one", True, True, (1.0, 2.0), 3.0)
    scores_over_costs(tmp_path / "c.png", {"x$_$": [point]}, ["ms", "MB"], "BLEU", list("abcd"))
    costs = {"full": ({64: 0.0, 128: 16.0, 256: 65.0}, (2.0, 1e-3))}
    scaling(tmp_path / "d.png", {"seconds": costs}, {"full": "full $attention_"})
    assert all((tmp_path / f"{name}.png").stat().st_size > 1000 for name in "abcd")


def test_words_have_lines_for_large_weights_of_the_queries_and_marks_for_links(tmp_path):
    drawings = {
        "all": Drawing("head 1", list("abcd"), np.eye(4)),
        "one": Drawing("head 1", list("abcd"), np.eye(4), [2]),
        "none": Drawing("head 1", list("abcd"), np.eye(4), []),
        "weak": Drawing("head 1", list("abcd"), 0.01 * np.eye(4)),
    }
    for name, drawing in drawings.items():
        word_lines(tmp_path / f"{name}.png", [drawing])
    blue = {name: pixels_of(tmp_path / f"{name}.png", BLUE) for name in drawings}
    assert blue["none"] == blue["weak"] == 0 < 2 * blue["one"] < blue["all"]


def test_color_marker_filling_and_size_tell_points_apart_and_sizes_are_joined():
    colors, markers = {"big": "blue", "small": "red"}, {"one": "o", "other": "s"}
    given = [
        Point(system, kind, is_filled, is_large, (10.0 + is_large, 5.0), 30.0 + is_large)
        for system in colors
        for kind in markers
        for is_filled in (True, False)
        for is_large in (True, False)
    ]
    ax = Figure().subplots()
    draw(ax, given, 0, colors, markers)
    points = [line for line in ax.lines if line.get_marker() != "None"]
    looks = {
        (line.get_color(), line.get_marker(), line.get_fillstyle(), line.get_markersize())
        for line in points
    }
    assert len(looks) == len(points) == len(given)
    lines = [line for line in ax.lines if line.get_marker() == "None"]
    assert [list(line.get_xdata()) for line in lines] == [[11.0, 10.0]] * 8


@pytest.mark.parametrize(("costs", "kind"), [([2.0, 3.0], "linear"), ([2.0, 30.0], "log")])
def test_the_axis_is_logarithmic_if_the_costs_differ_much(costs, kind):
    ax = Figure().subplots()
    scale(ax, costs)
    assert ax.get_xscale() == kind
