"""Heat maps show the weights, whatever the words."""

import matplotlib.image
import numpy as np
from support.models.attention_weights import ODD_WORDS, random_weights

from t2t_keras.visualization import heat_maps as module
from t2t_keras.visualization.heat_maps import heat_maps


def test_large_weights_are_dark_and_zeros_are_not(tmp_path):
    weights = np.array([np.eye(3), np.zeros((3, 3))])
    heat_maps(tmp_path / "a.png", weights, list("abc"), list("abc"), "title")
    pixels = matplotlib.image.imread(tmp_path / "a.png")[..., :3]
    height, width = pixels.shape[:2]
    assert 200 < height < 400 < width < 700
    dark = (pixels < [0.1, 0.25, 0.5]).all(-1) & (pixels[..., 2] > 0.3)  # the blue of a weight of 1
    cell = 1.8 * 100 / 3
    assert 2.7 * cell**2 < dark[:, : width // 2].sum() < 3.3 * cell**2
    assert dark[:, width // 2 : width - 100].sum() < 0.05 * cell**2


def test_long_sentences_shrink_the_cells_and_heads_fill_two_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 3.0)  # inches, for 30 words
    words = [f"word{n}" for n in range(30)]
    heat_maps(tmp_path / "a.png", np.ones((5, 30, 30)) / 30, words, words, "title")
    height, width = matplotlib.image.imread(tmp_path / "a.png").shape[:2]
    assert 600 < height < 900 and 1200 < width < 1500


def test_words_of_any_script_are_drawn_without_a_warning(tmp_path):
    count = len(ODD_WORDS)
    weights = random_weights(count, count)[0]
    heat_maps(tmp_path / "a.png", weights, ODD_WORDS, ODD_WORDS, "a $title_ {")
    assert matplotlib.image.imread(tmp_path / "a.png").shape[0] > 300
