"""Learning curves show the metrics that were recorded."""

import io

import matplotlib.figure
import matplotlib.image
import pytest

from t2t_keras.visualization.curves import curves, with_intervals, with_sets


@pytest.fixture
def drawn(monkeypatch):
    """A function that draws curves; returns {title: {(step, …)}} and the names in the legend."""
    figures = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, *_, **__: figures.append(figure)
    )

    def draw(*arguments):
        curves(io.BytesIO(), *arguments)
        figure = figures.pop()
        steps = {
            ax.get_title(loc="left"): [line.get_xdata().tolist() for line in ax.lines]
            for ax in figure.axes
        }
        return steps, [text.get_text() for legend in figure.legends for text in legend.get_texts()]

    return draw


def test_training_is_drawn_from_every_interval_and_held_out_text_from_evaluations(drawn):
    evaluations = [
        {"step": s, "train_loss": 5.0, "loss": 4.0, "learning_rate": 0.1, "bleu": 9.0}
        for s in (10, 20, 30)
    ]
    intervals = [
        {"step": s, "loss": 3.0, "learning_rate": 0.2, "tokens_per_second": 7.0}
        for s in (15, 20, 25, 30)
    ]
    steps, legend = drawn({"run": evaluations}, {"run": intervals})
    assert steps["loss"] == [[10, 15, 20, 25, 30], [10, 20, 30]], "an earlier version began the run"
    assert steps["learning rate"] == [[10, 15, 20, 25, 30]]
    assert steps["tokens per second"] == [[15, 20, 25, 30]] and steps["BLEU"] == [[10, 20, 30]]
    assert steps["token accuracy"] == [] and legend == ["run", "held out", "training"]


def test_the_legend_has_no_line_that_no_curve_has(drawn):
    trained = [{"step": 2, "loss": 3.0}]
    assert drawn({"run": []}, {"run": trained})[1] == ["run", "training"]
    assert drawn({"run": [{"step": 2, "loss": 3.0}]})[1] == ["run", "held out"]
    named = [{"step": 2, "loss": 4.0, "a/loss": 4.0, "b/loss": 3.0}]
    assert drawn({"run": named})[1] == ["run: a", "run: b", "held out"]
    rates = [{"step": 2, "learning_rate": 0.1}]
    assert drawn({"x": rates, "empty": [{"step": 1}], "old": []})[1] == ["x"]
    diverged = [{"step": 1, "loss": float("nan")}, {"step": 2, "loss": float("inf"), "bleu": None}]
    assert drawn({"diverged": diverged})[1] == []


def test_runs_of_earlier_versions_are_drawn_from_their_evaluations():
    evaluation = {"step": 1, "loss": 4.0, "train_loss": 5.0, "tokens_per_second": 7.0}
    expected = {"step": 1, "loss": 4.0, "train_loss": 5.0, "train_tokens_per_second": 7.0}
    assert with_intervals({"run": [evaluation]}, {}) == {"run": [expected]}


def test_named_held_out_sets_are_lines_of_their_own():
    evaluations = [
        {"step": 1, "train_loss": 6.0, "loss": 5.0},  # before the sets had names
        {"step": 2, "train_loss": 5.0, "loss": 4.0, "a/loss": 4.0, "b/loss": 3.0, "b/bleu": 9.0},
    ]
    assert with_sets({"run": evaluations, "other": evaluations[:1]}) == {
        "run": [evaluations[0], {"step": 2, "train_loss": 5.0}],
        "run: a": [{"step": 2, "loss": 4.0}],
        "run: b": [{"step": 2, "loss": 3.0, "bleu": 9.0}],
        "other": evaluations[:1],
    }
