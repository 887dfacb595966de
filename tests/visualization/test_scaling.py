"""Measured points and fitted powers of n are drawn on log axes."""

import matplotlib.image
from support.text.pictures import pixels_of

from t2t_keras.visualization.scaling import scaling


def test_points_are_drawn_with_and_without_a_fitted_line(tmp_path):
    points = {n: n**2 / 1e3 for n in (64, 128, 256)}
    names = {"full": "full attention"}
    scaling(tmp_path / "points.png", {"seconds": {"full": (points, None)}}, names)
    scaling(tmp_path / "line.png", {"seconds": {"full": (points, (2.0, 1e-3))}}, names)
    assert pixels_of(tmp_path / "points.png", "0072b2") > 0
    blue = [pixels_of(tmp_path / f"{name}.png", "0072b2") for name in ("points", "line")]
    assert blue[1] > 2 * blue[0]


def test_panels_are_side_by_side_and_costs_of_zero_are_left_out(tmp_path):
    lines = {
        "full": ({64: 0.0, 128: 2.0, 256: 8.0}, (2.0, 1e-4)),
        "local": ({64: 1.0, 128: 2.0, 256: 4.0}, (1.0, 0.02)),
    }
    names = {"full": "full attention", "local": "restricted"}
    scaling(tmp_path / "a.png", {"seconds": lines, "bytes": lines}, names)
    assert matplotlib.image.imread(tmp_path / "a.png").shape[:2] == (580, 920)
