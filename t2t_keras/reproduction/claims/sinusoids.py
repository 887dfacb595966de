"""Sinusoids and relative positions (§3.5): wavelengths, and PE(pos + k) as a function of PE(pos).

Nothing is trained. The figures are measured on the outputs of the layer.
"""

import math

import numpy as np

from t2t_keras.layers import SinusoidalPositionalEncoding
from t2t_keras.reproduction.child_process import call_in_child
from t2t_keras.reproduction.claims.finding import Finding
from t2t_keras.stages.table_writer import number
from t2t_keras.visualization.panels import Panel

D_MODEL = 512  # width of the encodings in the tables, the paper's base model
POSITIONS = 3000  # number of positions
DISTANCES = (1, 4, 16, 64, 256, 1024)  # k
PAIRS = (0, 64, 128, 192, 255)  # i of the wavelengths in the table
FARTHEST = 100  # maximum k of the dot products in the picture
STARTS = (0, 500, 2500)  # positions of the dot products in the picture
PICTURE_WIDTH = 128  # d_model of the first panel
PICTURE_LENGTH = 100  # number of positions in the first panel
SHIFT_WIDTH = 32  # d_model of the panel with the matrix
SHIFT = 8  # k of the panel with the matrix


def finding(_toy_runs):
    encodings = call_in_child(layer_outputs, POSITIONS, D_MODEL)
    waves = wavelengths(encodings)
    random = np.random.default_rng(0).normal(size=encodings.shape)
    tables = {"sinusoids": encodings, "random vectors": random}
    errors = {k: shift_error(encodings, k) for k in DISTANCES}
    fitted = {name: {k: fit_error(table, k) for k in DISTANCES} for name, table in tables.items()}
    small = call_in_child(layer_outputs, PICTURE_LENGTH, PICTURE_WIDTH)
    narrow = call_in_child(layer_outputs, 2, SHIFT_WIDTH)

    return Finding(
        title="Sinusoids and relative positions",
        claim="The wavelengths form a geometric progression from 2π to 10000 · 2π. We chose this "
        "function because we hypothesized it would allow the model to easily learn to attend by "
        "relative positions, since for any fixed offset k, PE(pos+k) can be represented as a "
        "linear function of PE(pos) (§3.5)",
        tables={
            "sinusoids-wavelengths": [wave_row(i, waves[i]) for i in PAIRS],
            "sinusoids-shifts": [shift_row(k, errors[k], fitted) for k in DISTANCES],
        },
        panels=panels(small, waves, rotation(frequencies(narrow), SHIFT), dot_products(encodings)),
        notes=[
            f"d_model = {D_MODEL}, {POSITIONS:,} positions, float32. A wavelength is 2π over the "
            "change of phase from position 0 to 1. The rotation turns each pair of dimensions by "
            "k times that change; it does not depend on the position. Its error is the largest "
            "difference in any dimension at any position.",
            "The fitted maps come from least squares on half of the positions. Their error on the "
            "other half is relative to predicting the mean (0: exact, 1: useless).",
            "Whether models use the encoding in this way is measured by the heads of `structure`.",
        ],
    )


def panels(encodings, waves, shift, products):
    limits = {"2π": 2 * math.pi, "10,000 · 2π": 20_000 * math.pi}
    lines = {"dimensions 2i and 2i + 1": dict(enumerate(waves))}
    lines |= {name: dict.fromkeys((0, len(waves)), limit) for name, limit in limits.items()}
    # The lines coincide, so each one shows a third of the points.
    points = {
        name: {k: product for k, product in line.items() if k % 9 == 3 * i}
        for i, (name, line) in enumerate(products.items())
    }
    return [
        Panel("PE(pos)", {}, "position", matrix=encodings.T, y_label="dimension"),
        Panel("wavelength", lines, "i", log_y=True),
        Panel(
            f"PE(pos + {SHIFT}) = M · PE(pos)", {}, "dimension", matrix=shift, y_label="dimension"
        ),
        Panel("PE(pos) · PE(pos + k), relative to k = 0", points, "k", joined=False),
    ]


def layer_outputs(positions, d_model):
    """Returns the layer's encodings of positions 0, 1, …, `[positions, d_model]`."""
    layer = SinusoidalPositionalEncoding()
    return np.array(layer(np.zeros((1, positions, d_model), "float32")))[0].astype("float64")


def frequencies(encodings):
    """Returns the change of phase per position, `[d_model / 2]`, from positions 0 and 1."""
    return np.arctan2(encodings[1, 0::2], encodings[1, 1::2])


def wavelengths(encodings):
    return (2 * math.pi / frequencies(encodings)).tolist()


def rotation(frequency, k):
    """Returns the matrix M with PE(pos + k) = M · PE(pos) for interleaved sines and cosines.

    By the addition theorems, sin(a + b) = cos(b) sin(a) + sin(b) cos(a), and cos(a + b) =
    −sin(b) sin(a) + cos(b) cos(a), where a is the phase and b = k · `frequency`.
    """
    width = 2 * len(frequency)
    matrix, even = np.zeros((width, width)), np.arange(0, width, 2)
    cosines, sines = np.cos(k * frequency), np.sin(k * frequency)
    matrix[even, even] = matrix[even + 1, even + 1] = cosines
    matrix[even, even + 1], matrix[even + 1, even] = sines, -sines
    return matrix


def shift_error(encodings, k):
    """Returns the largest difference between PE(pos + k) and the rotated PE(pos)."""
    # Measured frequencies have float32's rounding; multiplied by k, it would dominate the error.
    exact = 10_000 ** (-np.arange(0, encodings.shape[1], 2) / encodings.shape[1])
    rotated = encodings[:-k] @ rotation(exact, k).T
    return float(np.abs(rotated - encodings[k:]).max())


def fit_error(table, k):
    """Fits a linear map from vectors to those k rows later; returns its error on other rows."""
    before, after = table[:-k], table[k:]
    fitted = np.random.default_rng(1).permutation(len(before)) % 2 == 0
    matrix, *_ = np.linalg.lstsq(before[fitted], after[fitted], rcond=None)
    wrong = before[~fitted] @ matrix - after[~fitted]
    spread = after[~fitted] - after[~fitted].mean(axis=0)
    return float(np.square(wrong).sum() / np.square(spread).sum()) ** 0.5


def dot_products(encodings):
    """Returns {name: {k: dot product}} for distances from each of `STARTS`."""
    norm = encodings.shape[1] / 2
    return {
        f"pos = {start:,}": {
            k: float(encodings[start] @ encodings[start + k] / norm)
            for k in range(-FARTHEST, FARTHEST + 1)
            if start + k >= 0
        }
        for start in STARTS
    }


def wave_row(i, wavelength):
    return {
        "dimensions": f"{2 * i}, {2 * i + 1}",
        "wavelength": number(wavelength, ",.2f"),
        "2π · 10000^(2i/d_model)": number(2 * math.pi * 10_000 ** (2 * i / D_MODEL), ",.2f"),
    }


def shift_row(k, error, fitted):
    return {
        "k": f"{k:,}",
        "error of the rotation": number(error, ".1g"),
        **{
            f"error of a fitted map, {name}": number(by_distance[k], ".2g")
            for name, by_distance in fitted.items()
        },
    }
