"""Draws learning curves of one or several runs, and learning rate schedules."""

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from t2t_keras.evaluation.held_out_metrics import names_in, of_set, without_sets
from t2t_keras.visualization.images import GRAY, image, style_axes

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b4fc9", "#8c564b"]
STYLES = ["-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1))]
# {title of the panel: (held-out metric: thick line, training metric: thin line)}
PANELS = {
    "loss": ("loss", "train_loss"),
    "perplexity": ("perplexity", "train_perplexity"),
    "BLEU": ("bleu", None),
    "learning rate": ("learning_rate", None),
}


def curves(path, runs):
    """Draws loss, perplexity, BLEU and learning rate over the steps.

    Args:
        path: path of the PNG file, or a binary file object.
        runs: {name of the run: list of evaluations}. An evaluation is a dict as in
            `metrics.jsonl`; missing metrics are not drawn. Each named held-out set gets a line.
    """
    runs = with_sets(runs)
    styles = {
        name: {"color": COLORS[i % len(COLORS)], "linestyle": STYLES[i // len(COLORS) % 4]}
        for i, name in enumerate(runs)
    }
    with image(path, 11, 7.5 + 0.25 * (len(runs) // 3), layout="constrained") as figure:
        for ax, (title, fields) in zip(figure.subplots(2, 2).ravel(), PANELS.items(), strict=True):
            for name, evaluations in runs.items():
                for field, thin in zip(fields, (False, True), strict=True):
                    draw(ax, evaluations, field, thin, styles[name])
            label_axes(ax, title)
        add_legend(figure, styles)


def with_sets(runs):
    """Returns `runs` with a separate entry for each named held-out set of a run."""
    lines = {}
    for run, evaluations in runs.items():
        lines[run] = [without_sets(each) for each in evaluations]
        for name in names_in(evaluations):
            lines[f"{run}: {name}"] = of_set(evaluations, name)
    return lines


def schedule_curve(path, rate, steps, reached=None):
    """Draws a learning rate schedule over the planned steps.

    Args:
        path: path of the PNG file, or a binary file object.
        rate: function that takes a step, counted from 0 as in Keras, and returns its learning
            rate.
        steps: number of planned steps.
        reached: number of finished steps, marked in the plot. If None, there is no mark.
    """
    with image(path, 11, 3, layout="constrained") as figure:
        ax = figure.subplots()
        shown = np.unique(np.linspace(1, max(steps, reached or 0), 400).round())
        ax.plot(shown, [float(rate(step - 1)) for step in shown], color=COLORS[0], linewidth=1.8)
        if reached is not None:
            ax.axvline(reached, color=GRAY, linewidth=1, linestyle=":")
            ax.annotate(
                "reached",
                (reached, 0),
                xytext=(-4, 4),
                textcoords="offset points",
                ha="right",
                color=GRAY,
                fontsize=9,
            )
        label_axes(ax, "learning rate")


def draw(ax, evaluations, field, thin, style):
    points = [(each["step"], each[field]) for each in evaluations if each.get(field) is not None]
    if not points:
        return
    marker = "o" if len(points) == 1 else None  # a single point would not be visible as a line
    width = {"linewidth": 1, "alpha": 0.45} if thin else {"linewidth": 1.8}
    ax.plot(*zip(*points, strict=True), marker=marker, markersize=4, **style, **width)


def label_axes(ax, title):
    style_axes(ax, title)
    if not ax.lines:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "not recorded", color=GRAY, ha="center", transform=ax.transAxes)
        return
    ax.set_xlabel("step")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    if title == "perplexity":
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(LogFormatter())
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))


def add_legend(figure, styles):
    lines = [Line2D([], [], linewidth=1.8, **style) for style in styles.values()]
    names = list(styles)
    lines += [Line2D([], [], color=GRAY, linewidth=w, alpha=a) for w, a in ((1.8, 1), (1, 0.45))]
    names += ["held out", "training"]
    legend = figure.legend(lines, names, loc="outside lower center", ncols=4, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
