"""Learning curves show the metrics that were recorded."""

import matplotlib.image

from t2t_keras.visualization.curves import curves, schedule_curve, with_sets


def colored_share(path):
    return (matplotlib.image.imread(path)[..., :3] < 0.9).any(-1).mean()


def test_missing_and_infinite_metrics_are_left_out(tmp_path):
    runs = {
        "complete": [
            {"step": s, "loss": 5 - s, "train_loss": 6 - s, "perplexity": 50 / s, "bleu": s}
            for s in (1, 2, 3)
        ],
        "an $odd_ name": [{"step": 2, "train_loss": 3.0, "bleu": None}],
        "diverged": [{"step": 1, "loss": float("nan")}, {"step": 2, "loss": float("inf")}],
        "empty": [{"step": 1}],
    }
    curves(tmp_path / "all.png", runs)
    curves(tmp_path / "none.png", {"empty": runs["empty"]})
    widths = [matplotlib.image.imread(tmp_path / f"{n}.png").shape[1] for n in ("all", "none")]
    assert widths == [1100, 1100]
    assert colored_share(tmp_path / "all.png") > 1.5 * colored_share(tmp_path / "none.png")


def test_the_schedule_marks_the_step_that_was_reached(tmp_path):
    for name, reached in (("planned", None), ("stopped", 40)):
        schedule_curve(tmp_path / f"{name}.png", lambda step: 1 / (step + 1), 100, reached)
    assert colored_share(tmp_path / "stopped.png") > colored_share(tmp_path / "planned.png")


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
