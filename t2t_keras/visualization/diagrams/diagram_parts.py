"""Boxes, arrows and symbols of diagrams, in inches."""

from matplotlib.patches import Circle, FancyBboxPatch

from t2t_keras.visualization.images import GRAY

BOX = 2.1  # width of a box
LOW = 0.36  # height of a box without details
HIGH = 0.54  # height of a box with details
LINE = {"color": "#33373d", "linewidth": 1.1, "solid_capstyle": "round"}
# Colors in the manner of the paper's figures.
COLORS = {
    "attention": "#fbdfc4",
    "cross-attention": "#fbdfc4",
    "feed-forward": "#c5e6f5",
    "other": "#e6dcf2",
    "norm": "#f4f3c3",
    "embedding": "#fadede",
    "linear": "#dcdff1",
    "softmax": "#cde8d2",
    "frame": "#f5f6f7",
}


class Canvas:
    """Axes of a matplotlib figure whose units are inches, with the shapes of a diagram."""

    def __init__(self, figure):
        self.figure, self.ax = figure, figure.add_axes((0, 0, 1, 1))
        self.ax.axis("off")

    def fit(self, width, height):
        """Sets the size of the figure in inches; to be called after everything is drawn."""
        self.figure.set_size_inches(width, height)
        self.ax.set(xlim=(0, width), ylim=(0, height))

    def box(self, x, y, title, color, details="", width=BOX, copies=1):
        """Draws boxes behind each other, with their bottom centered at (x, y); returns its top's y.

        `color` is a key of `COLORS`. The details are written smaller, below the title.
        """
        height = HIGH if details else LOW
        for copy in reversed(range(copies)):
            shift = 0.07 * copy
            self.rounded(x - width / 2 + shift, y + shift, width, height, COLORS[color], 2 - copy)
        middle = y + height / 2
        self.text(x, middle + (0.1 if details else 0), title, 9.5)
        if details:
            self.text(x, middle - 0.12, details, 7.5, color=GRAY)
        return y + height

    def rounded(self, x, y, width, height, color, zorder=0.5, edge="#5b6068"):
        style = {"facecolor": color, "edgecolor": edge, "linewidth": 0.9, "zorder": zorder}
        corners = "round,pad=0,rounding_size=0.07"
        self.ax.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=corners, **style))

    def text(self, x, y, text, size, **style):
        style = {"ha": "center", "va": "center", "zorder": 5, "parse_math": False, **style}
        self.ax.text(x, y, text, fontsize=size, **style)

    def line(self, *points):
        self.ax.plot(*zip(*points, strict=True), zorder=1, **LINE)

    def arrow(self, *points):
        """Draws a line through (x, y) points that ends in an arrowhead."""
        self.line(*points)
        style = {"arrowstyle": "-|>,head_width=0.18,head_length=0.32", "linewidth": 1.1}
        style |= {"color": LINE["color"], "shrinkA": 0, "shrinkB": 0}
        self.ax.annotate("", points[-1], points[-2], arrowprops=style)

    def sum(self, x, y):
        """Draws a plus in a circle."""
        shape = Circle((x, y), 0.1, facecolor="white", edgecolor=LINE["color"], zorder=0.9)
        self.ax.add_patch(shape)
        self.line((x - 0.06, y), (x + 0.06, y))
        self.line((x, y - 0.06), (x, y + 0.06))
