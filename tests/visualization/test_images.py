"""Images need no screen and leave matplotlib's global settings alone."""

import io

import matplotlib
import matplotlib.image

from t2t_keras.visualization.images import image


def test_an_image_has_the_size_that_was_asked_for():
    file = io.BytesIO()
    with image(file, 3, 2, dpi=50) as figure:
        figure.text(0.5, 0.5, "text")
    file.seek(0)
    assert matplotlib.image.imread(file).shape[:2] == (100, 150)


def test_global_settings_are_restored():
    before = dict(matplotlib.rcParams)
    with image(io.BytesIO(), 1, 1):
        pass
    assert dict(matplotlib.rcParams) == before
