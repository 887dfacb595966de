"""Learning curves of one or several runs, in one image, and the curve of a learning rate."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from t2t_keras.visualization.images import GREY, image, styled

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b4fc9", "#8c564b"]
STYLES = ["-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1))]
# What is drawn: held out where there is such a figure, and thinly of the training.
PANELS = {
    "loss": ("loss", "train_loss"),
    "perplexity": ("perplexity", "train_perplexity"),
    "BLEU": ("bleu", None),
    "learning rate": ("learning_rate", None),
}


def curves(path, runs):
    """Draws loss, perplexity, BLEU and learning rate over the steps.

    Args:
        path: of the PNG file, or a file to write it into.
        runs: for each run's name its evaluations, dicts as in `metrics.jsonl`. What a run does
            not have is not drawn.
    """
    looks = {
        name: {"color": COLOURS[i % len(COLOURS)], "linestyle": STYLES[i // len(COLOURS) % 4]}
        for i, name in enumerate(runs)
    }
    with image(path, 11, 7.5 + 0.25 * (len(runs) // 3), layout="constrained") as figure:
        for ax, (title, fields) in zip(figure.subplots(2, 2).ravel(), PANELS.items(), strict=True):
            for name, evaluations in runs.items():
                for field, thin in zip(fields, (False, True), strict=True):
                    draw(ax, evaluations, field, thin, looks[name])
            finish(ax, title)
        legend(figure, looks)


def schedule_curve(path, rate, steps, reached=None):
    """Draws a learning rate over the steps that are planned.

    Args:
        path: of the PNG file, or a file to write it into.
        rate: a function from a step, counted from 0 as Keras does, to its learning rate.
        steps: how many are planned.
        reached: how many were made. None: it is not marked.
    """
    with image(path, 11, 3, layout="constrained") as figure:
        ax = figure.subplots()
        shown = np.unique(np.linspace(1, max(steps, reached or 0), 400).round())
        ax.plot(shown, [float(rate(step - 1)) for step in shown], color=COLOURS[0], linewidth=1.8)
        if reached is not None:
            ax.axvline(reached, color=GREY, linewidth=1, linestyle=":")
            ax.annotate(
                "reached",
                (reached, 0),
                xytext=(-4, 4),
                textcoords="offset points",
                ha="right",
                color=GREY,
                fontsize=9,
            )
        finish(ax, "learning rate")


def draw(ax, evaluations, field, thin, look):
    points = [(each["step"], each[field]) for each in evaluations if each.get(field) is not None]
    if not points:
        return
    marker = "o" if len(points) == 1 else None  # a line needs two
    thin_look = {"linewidth": 1, "alpha": 0.45} if thin else {"linewidth": 1.8}
    ax.plot(*zip(*points, strict=True), marker=marker, markersize=4, **look, **thin_look)


def finish(ax, title):
    styled(ax, title)
    if not ax.lines:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "none measured", color=GREY, ha="center", transform=ax.transAxes)
        return
    ax.set_xlabel("step")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    if title == "perplexity":
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(LogFormatter())
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))


def legend(figure, looks):
    lines = [Line2D([], [], linewidth=1.8, **look) for look in looks.values()]
    names = list(looks)
    lines += [Line2D([], [], color=GREY, linewidth=w, alpha=a) for w, a in ((1.8, 1), (1, 0.45))]
    names += ["held out", "training"]
    made = figure.legend(lines, names, loc="outside lower center", ncols=4, frameon=False)
    for text in made.get_texts():
        text.set_parse_math(False)
