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
COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b4fc9", "#8c564b"]
GRAY, LIGHT_GRAY = "#5f6670", "#c8ccd2"


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
