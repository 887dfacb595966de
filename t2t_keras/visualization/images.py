"""Images without a screen: figures drawn by matplotlib's Agg, and by nothing global."""

import contextlib
import warnings

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

# DejaVu comes with matplotlib and has most alphabets. Of the others those that are installed
# write what DejaVu cannot.
FONTS = [
    "DejaVu Sans",
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Noto Sans Devanagari"),
    *("Noto Sans Bengali", "Noto Sans Tamil", "Noto Sans Thai", "Noto Emoji", "Unifont"),
]
GREY, LIGHT_GREY = "#5f6670", "#c8ccd2"


def styled(ax, title):
    """Gives the axes of curves their looks: quiet, so that the lines are seen first."""
    ax.set_title(title, fontsize=11, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(LIGHT_GREY)
    ax.tick_params(colors=GREY, labelsize=9, length=0, which="both")
    ax.xaxis.label.set(color=GREY, fontsize=9)
    ax.grid(color=LIGHT_GREY, linewidth=0.5, which="both", alpha=0.6)


@contextlib.contextmanager
def image(path, width, height, dpi=100, layout=None):
    """An empty figure of so many inches, which is written as a PNG file in the end."""
    figure = Figure(figsize=(width, height), layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    installed = set(fontManager.get_font_names())
    fonts = {"font.family": [font for font in FONTS if font in installed]}
    with matplotlib.rc_context(fonts), warnings.catch_warnings():
        # A character that no font has becomes an empty box.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield figure
        figure.savefig(path, format="png", dpi=dpi)
