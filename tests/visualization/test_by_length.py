"""Measures over the length of the text: a panel for each, a line for each system."""

import matplotlib.image
from support.text.pictures import pixels_of

from t2t_keras.visualization.by_length import by_length


def test_every_system_has_a_line_in_every_panel(tmp_path):
    lines = {"full": {100.0: 3.0, 200.0: 9.0}, "restricted_$x$": {100.0: 2.0, 200.0: 4.0}}
    by_length(tmp_path / "two.png", {"BLEU": (lines, False), "seconds": (lines, True)})
    assert matplotlib.image.imread(tmp_path / "two.png").shape[:2] == (380, 720)
    by_length(tmp_path / "one.png", {"BLEU": (lines, False)})
    for color in ("0072b2", "d55e00"):
        one, two = (pixels_of(tmp_path / f"{name}.png", color) for name in ("one", "two"))
        assert one > 100 and two > 1.5 * one
