"""Pictures are drawn with a line or a mark for each name, whatever the words."""

import io

import matplotlib
import matplotlib.image
import numpy as np
from support.models.attention_weights import ODD_WORDS, random_weights
from support.text.pictures import pixels_of

from t2t_keras.visualization.heat_maps import heat_maps
from t2t_keras.visualization.images import image
from t2t_keras.visualization.panels import Panel, draw_panels
from t2t_keras.visualization.word_lines import Drawing, word_lines

BLUE = "0072b2"
WORDS = ["$x_1$", "\\frac", "", "W" * 40]


def test_an_image_has_its_size_and_restores_global_settings():
    before, file = dict(matplotlib.rcParams), io.BytesIO()
    with image(file, 3, 2, dpi=50) as figure:
        figure.text(0.5, 0.5, "text")
    file.seek(0)
    assert matplotlib.image.imread(file).shape[:2] == (100, 150)
    assert dict(matplotlib.rcParams) == before


def test_words_of_any_script_are_drawn_without_a_warning(tmp_path):
    weights = random_weights(len(ODD_WORDS), len(ODD_WORDS))[0]
    heat_maps(tmp_path / "a.png", weights, ODD_WORDS, ODD_WORDS, "a $title_ {")
    word_lines(tmp_path / "b.png", [Drawing("$a$", WORDS, np.full((4, 4), 0.25))])
    draw_panels(tmp_path / "c.png", [Panel("x$_$", {"a$b$^": {1: 2.0}}, "full $attention_")])
    assert all((tmp_path / f"{name}.png").stat().st_size > 1000 for name in "abc")


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
