"""The sinusoids of positions in four panels: values, wavelengths, a shift as a matrix, products."""

import math

from t2t_keras.visualization.curves import COLORS
from t2t_keras.visualization.images import GRAY, LIGHT_GRAY, image, style_axes


def position_waves(path, encodings, wavelengths, shift, distance, products):
    """Draws sinusoids of positions.

    Args:
        path: path of the PNG file.
        encodings: `[positions, d_model]`.
        wavelengths: list with the wavelength of each pair of dimensions.
        shift: matrix that maps the encoding of a position to that of a later one.
        distance: number of positions between them.
        products: {name of a line: {distance: dot product}}.
    """
    with image(path, 9.2, 6.6, layout="constrained") as figure:
        (values, waves), (matrix, dots) = figure.subplots(2, 2)
        style_axes(values, "PE(pos)")
        picture = values.imshow(encodings.T, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
        values.set(xlabel="position", ylabel="dimension")
        add_scale(figure, picture, values)

        style_axes(waves, "wavelength of dimensions 2i and 2i + 1")
        waves.plot(range(len(wavelengths)), wavelengths, color=COLORS[0])
        waves.set_yscale("log")
        for limit, name in ((2 * math.pi, "2π"), (20_000 * math.pi, "10,000 · 2π")):
            waves.axhline(limit, color=COLORS[1], linewidth=1, linestyle=(0, (4, 3)))
            place = {"xytext": (-2, 3), "textcoords": "offset points", "ha": "right"}
            waves.annotate(name, (len(wavelengths), limit), fontsize=9, color=COLORS[1], **place)
        waves.set(xlabel="i", ylim=(3, 200_000))

        style_axes(matrix, f"PE(pos + {distance}) = M · PE(pos)")
        picture = matrix.imshow(shift, cmap="RdBu", vmin=-1, vmax=1)
        matrix.set(xlabel="dimension", ylabel="dimension")
        matrix.grid(visible=False)
        add_scale(figure, picture, matrix)

        style_axes(dots, "PE(pos) · PE(pos + k), relative to k = 0")
        # Lines that coincide stay visible, because the later ones are thinner.
        for index, (name, points) in enumerate(products.items()):
            style = {"color": COLORS[index], "linewidth": max(6 - 2.4 * index, 1)}
            dots.plot(points.keys(), points.values(), label=name, **style)
        dots.set_xlabel("k")
        dots.legend(frameon=False, fontsize=9)
        for ax in (values, matrix):
            ax.yaxis.label.set(color=GRAY, fontsize=9)
        values.grid(visible=False)


def add_scale(figure, picture, ax):
    bar = figure.colorbar(picture, ax=ax, ticks=[-1, 0, 1], shrink=0.8, pad=0.02)
    bar.ax.tick_params(labelsize=8, labelcolor=GRAY, length=0)
    bar.outline.set_edgecolor(LIGHT_GRAY)
