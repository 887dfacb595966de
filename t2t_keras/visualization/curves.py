"""Draws learning curves of one or several runs, and learning rate schedules."""

import math

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter, PercentFormatter

from t2t_keras.evaluation.held_out_metrics import names_in, of_set, without_sets
from t2t_keras.visualization.images import GRAY, image, style_axes

COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9", "#7b4fc9", "#8c564b"]
STYLES = ["-", (0, (5, 1.5)), (0, (1, 1)), (0, (4, 1, 1, 1))]
HELD_OUT, TRAINING, ONLY = "held out", "training", "only"
WIDTHS = {
    HELD_OUT: {"linewidth": 1.8},
    TRAINING: {"linewidth": 1, "alpha": 0.45},
    ONLY: {"linewidth": 1.4},
}
# {title of the panel: {field: kind of its line}}. Fields of training begin with "train_".
PANELS = {
    "loss": {"train_loss": TRAINING, "loss": HELD_OUT},
    "perplexity": {"train_perplexity": TRAINING, "perplexity": HELD_OUT},
    "token accuracy": {"token_accuracy": HELD_OUT},
    "BLEU": {"bleu": HELD_OUT},
    "learning rate": {"train_learning_rate": ONLY},
    "tokens per second": {"train_tokens_per_second": ONLY},
}


def curves(path, runs, intervals=None):
    """Draws the metrics of runs over the steps, a panel for each of `PANELS`.

    Args:
        path: path of the PNG file, or a binary file object.
        runs: {name of the run: list of evaluations}. An evaluation is a dict as in
            `metrics.jsonl`; missing metrics are not drawn. Each named held-out set gets a line.
        intervals: {name of the run: list of dicts as in `training.jsonl`}. Without them, training
            metrics are drawn from the evaluations.
    """
    runs = with_sets(with_intervals(runs, intervals or {}))
    styles = {
        name: {"color": COLORS[i % len(COLORS)], "linestyle": STYLES[i // len(COLORS) % 4]}
        for i, name in enumerate(runs)
    }
    drawn = set()
    with image(path, 11, 11 + 0.25 * (len(runs) // 3), layout="constrained") as figure:
        for ax, (title, fields) in zip(figure.subplots(3, 2).ravel(), PANELS.items(), strict=True):
            for name, lines in runs.items():
                for field, kind in fields.items():
                    if draw(ax, lines, field, **WIDTHS[kind], **styles[name]):
                        drawn |= {name, kind}
            label_axes(ax, title)
        last = max((each["step"] for lines in runs.values() for each in lines), default=0)
        for ax in figure.axes:
            if ax.lines:
                ax.set_xlim(0, 1.02 * last)
        add_legend(figure, {name: styles[name] for name in styles if name in drawn}, drawn)


def with_intervals(runs, intervals):
    """Returns `runs` with the lines of `training.jsonl` among the evaluations.

    Their metrics get the prefix "train_", and replace those of the evaluations from their first
    step on: a run that an earlier version began has evaluations before it.
    """
    lines = {}
    for name, evaluations in runs.items():
        own = intervals.get(name, [])
        first = min((each["step"] for each in own), default=math.inf)
        lines[name] = [with_training(each, each["step"] < first) for each in evaluations]
        for each in own:
            values = {f"train_{field}": each[field] for field in each}
            lines[name].append({"step": each["step"], **values})
        lines[name].sort(key=lambda line: line["step"])
    return lines


def with_training(evaluation, is_shown):
    """Returns an evaluation with its training metrics under their own names, or without them."""
    values = {k: v for k, v in evaluation.items() if is_shown or not k.startswith("train_")}
    for name in ("learning_rate", "tokens_per_second"):
        value = values.pop(name, None)
        if is_shown and value is not None:
            values[f"train_{name}"] = value
    return values


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


def draw(ax, lines, field, **style):
    """Draws a field over the steps. Returns whether any of the lines has it."""
    points = [(each["step"], each[field]) for each in lines if finite(each.get(field))]
    if points:
        marker = "o" if len(points) == 1 else None  # a single point would not be visible as a line
        ax.plot(*zip(*points, strict=True), marker=marker, markersize=4, **style)
    return bool(points)


def finite(value):
    return isinstance(value, int | float) and math.isfinite(value)


def label_axes(ax, title):
    style_axes(ax, title)
    if not ax.lines:
        ax.set(xticks=[], yticks=[])
        ax.text(0.5, 0.5, "not recorded", color=GRAY, ha="center", transform=ax.transAxes)
        return
    ax.set_xlabel("step")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    if title in ("BLEU", "token accuracy", "tokens per second"):
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(PercentFormatter(1) if "accuracy" in title else "{x:,g}")
    if title == "perplexity":
        ax.set_yscale("log")
        ax.yaxis.set_major_formatter(LogFormatter())
        ax.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))


def add_legend(figure, styles, drawn):
    """Adds a legend of the runs, and of the kinds of lines if the picture has both of them."""
    lines = [Line2D([], [], linewidth=1.8, **style) for style in styles.values()]
    names = list(styles)
    kinds = [kind for kind in (HELD_OUT, TRAINING) if kind in drawn]
    lines += [Line2D([], [], color=GRAY, **WIDTHS[kind]) for kind in kinds]
    legend = figure.legend(lines, names + kinds, loc="outside lower center", ncols=4, frameon=False)
    for text in legend.get_texts():
        text.set_parse_math(False)
