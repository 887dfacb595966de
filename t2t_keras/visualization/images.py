"""Draws PNG images on matplotlib's Agg canvas, without a screen or pyplot's global state."""

import contextlib
import warnings

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

# DejaVu comes with matplotlib and covers most alphabets. The other fonts, if installed, cover
# scripts that DejaVu lacks.
FONTS = [
    "DejaVu Sans",
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Noto Sans Devanagari"),
    *("Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Noto Emoji", "Unifont"),
]
GRAY, LIGHT_GRAY = "#5f6670", "#c8ccd2"


def style_axes(ax, title):
    """Sets the title, and mutes frame, ticks and grid so that the lines stand out."""
    ax.set_title(title, fontsize=11, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LIGHT_GRAY)
    ax.tick_params(colors=GRAY, labelsize=9, length=0, which="both")
    ax.xaxis.label.set(color=GRAY, fontsize=9)
    ax.grid(color=LIGHT_GRAY, linewidth=0.5, which="both", alpha=0.6)


@contextlib.contextmanager
def image(path, width, height, dpi=100, layout=None):
    """Yields an empty figure, with a size in inches, and saves it as a PNG file at the end."""
    figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    installed = set(fontManager.get_font_names())
    fonts = {"font.family": [font for font in FONTS if font in installed]}
    with matplotlib.rc_context(fonts), warnings.catch_warnings():
        # A character that no font has is drawn as an empty box.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield figure
        figure.savefig(path, format="png", dpi=dpi)
