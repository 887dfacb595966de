"""Counts the pixels of a picture."""

import matplotlib.image
import numpy as np


def pixels_of(path, color):
    """Counts the pixels of a color, given as three hexadecimal bytes."""
    pixels = np.rint(matplotlib.image.imread(path)[..., :3] * 255)
    return int((np.abs(pixels - list(bytes.fromhex(color))) < 12).all(-1).sum())
