"""Bins of words are drawn as bars and points."""

import matplotlib.image
import numpy as np
from support.text.pictures import pixels_of

from t2t_keras.evaluation.calibration import calibration
from t2t_keras.visualization.calibration import calibration_plot


def test_more_bins_have_more_bars_and_a_line(tmp_path):
    blue, orange = [], []
    for name, confidence in {"one": [0.55], "many": np.linspace(0, 1, 30)}.items():
        path = tmp_path / f"{name}.png"
        calibration_plot(path, calibration(confidence, np.ones(len(confidence))).bins)
        assert matplotlib.image.imread(path).shape[:2] == (420, 1100)
        blue.append(pixels_of(path, "0072b2"))
        orange.append(pixels_of(path, "d55e00"))
    assert blue[1] > 5 * blue[0] > 0, "a bar of words for each bin"
    assert orange[1] > 2 * orange[0] > 0
