"""Learning curves show the metrics that were recorded."""

import io

import matplotlib.figure
import pytest

from t2t_keras.visualization import curves


@pytest.fixture
def drawn(monkeypatch):
    """A function that draws curves; returns {title: {(step, …)}} and the names in the legend."""
    figures = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, *_, **__: figures.append(figure)
    )

    def draw(evaluations=(), intervals=()):
        curves.curves(io.BytesIO(), {"run": [(evaluations, intervals)]})
        figure = figures.pop()
        steps = {
            ax.get_title(loc="left"): [line.get_xdata().tolist() for line in ax.lines]
            for ax in figure.axes
        }
        return steps, [text.get_text() for legend in figure.legends for text in legend.get_texts()]

    return draw


def test_training_is_drawn_from_intervals_and_held_out_text_from_evaluations(drawn):
    evaluations = [
        {"step": s, "train_loss": 5.0, "loss": 4.0, "learning_rate": 0.1, "bleu": 9.0}
        for s in (10, 20, 30)
    ]
    intervals = [
        {"step": s, "loss": 3.0, "learning_rate": 0.2, "tokens_per_second": 7.0} for s in (15, 30)
    ]
    steps, legend = drawn(evaluations, intervals)
    assert steps["loss"] == [[15, 30], [10, 20, 30]]
    assert steps["learning rate"] == steps["tokens per second"] == [[15, 30]]
    assert steps["BLEU"] == [[10, 20, 30]]
    assert steps["token accuracy"] == [] and legend == ["run", "training"]


def test_the_legend_has_no_line_that_no_curve_has(drawn):
    line = {"step": 2, "loss": 3.0}
    assert drawn([], [line])[1] == ["run", "training"]
    assert drawn([line])[1] == ["run"]
    assert drawn([{**line, "a/loss": 4.0, "b/loss": 3.0}])[1] == ["run: a", "run: b"]
    assert drawn([], [{"step": 2, "learning_rate": 0.1}])[1] == ["run"]
    diverged = [{"step": 1, "loss": float("nan")}, {"step": 2, "loss": float("inf"), "bleu": None}]
    assert drawn(diverged)[1] == []


def test_named_held_out_sets_are_lines_of_their_own(monkeypatch):
    evaluations = [
        {"step": 1, "loss": 5.0},  # before the sets had names
        {"step": 2, "loss": 4.0, "a/loss": 4.0, "b/loss": 3.0, "b/bleu": 9.0},
    ]
    drawn = []
    monkeypatch.setattr(curves, "draw_panels", lambda path, panels, *_, **__: drawn.extend(panels))
    curves.curves(None, {"run": [(evaluations, [])], "other": [(evaluations[:1], [])]})
    lines = {"run": {1: 5.0}, "run: a": {2: 4.0}, "run: b": {2: 3.0}, "other": {1: 5.0}}
    assert drawn[0].lines == lines


def test_runs_of_a_name_are_a_line_of_means_and_a_band_where_all_have_a_value(monkeypatch):
    runs = [[{"step": 1, "loss": 5.0}, {"step": 2, "loss": 4.0}], [{"step": 1, "loss": 3.0}]]
    drawn = []
    monkeypatch.setattr(curves, "draw_panels", lambda path, panels, *_, **__: drawn.extend(panels))
    curves.curves(None, {"row": [(of_run, []) for of_run in runs]})
    assert drawn[0].lines == {"row": {1: 4.0}} and drawn[0].bands == {"row": {1: (3.0, 5.0)}}
