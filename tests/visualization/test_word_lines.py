"""Lines between words: as many as there are weights, and none from words that are not asked for."""

import matplotlib.image
import numpy as np
from matplotlib.colors import to_rgb

from t2t_keras.visualization.curves import COLORS
from t2t_keras.visualization.word_lines import Drawing, word_lines

WORDS = ["The", "horse", "sleeps.", "end"]


def colored(path, index=0):
    """Counts the pixels that have a tone of a color, at most half as strong."""
    pixels = matplotlib.image.imread(path)[..., :3]
    color = np.array(to_rgb(COLORS[index]))
    strength = (1 - pixels) @ (1 - color) / np.sum((1 - color) ** 2)
    error = np.abs(1 - pixels - strength[..., None] * (1 - color)).max(axis=-1)
    return int(((strength > 0.5) & (error < 0.06)).sum())


def test_only_the_weights_of_the_queries_are_drawn(tmp_path):
    weights = np.eye(4)
    drawings = {
        "all": Drawing("head 1", WORDS, weights),
        "one": Drawing("head 1", WORDS, weights, [2]),
        "none": Drawing("head 1", WORDS, weights, []),
        "weak": Drawing("head 1", WORDS, 0.01 * weights),
    }
    pixels = {}
    for name, drawing in drawings.items():
        word_lines(tmp_path / f"{name}.png", [drawing])
        pixels[name] = colored(tmp_path / f"{name}.png")
    assert pixels["none"] == pixels["weak"] == 0
    assert 3.5 < pixels["all"] / pixels["one"] < 4.5


def test_linked_words_are_marked_and_drawings_are_below_each_other(tmp_path):
    plain = Drawing("one", WORDS, np.zeros((4, 4)))
    marked = plain._replace(links=((2, 1),))
    for name, drawings in {"plain": [plain], "two": [plain, marked]}.items():
        word_lines(tmp_path / f"{name}.png", drawings)
    assert colored(tmp_path / "plain.png") == colored(tmp_path / "two.png") == 0
    assert colored(tmp_path / "two.png", 1) > 50
    heights = [matplotlib.image.imread(tmp_path / f"{n}.png").shape[0] for n in ("plain", "two")]
    assert 1.8 < heights[1] / heights[0] < 2.1


def test_words_are_plain_text(tmp_path):
    words = ["$x_1$", "\\frac", "", "W" * 40]
    word_lines(tmp_path / "a.png", [Drawing("$a$", words, np.full((4, 4), 0.25))])
    assert (tmp_path / "a.png").stat().st_size > 1000
