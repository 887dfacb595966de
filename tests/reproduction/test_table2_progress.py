import json

import pytest

from t2t_keras.experiment import load_experiment
from t2t_keras.parameters import training_operations
from t2t_keras.reproduction import table2_progress
from t2t_keras.reproduction.recipe import operations_per_token
from t2t_keras.reproduction.table2_progress import RowProgress, draw_progress, progress_of
from t2t_keras.runs import Run
from t2t_keras.runs.settings_file import write_settings


def test_progress_is_counted_in_operations_of_the_tokens_seen(tmp_path):
    run = Run(tmp_path)
    write_settings(run.config_file, load_experiment("multi30k"))
    lines = [
        {"step": 5, "tokens": 1000, "seconds": 3.5, "bleu": 1.25},
        {"step": 9, "tokens": 2000, "seconds": 7.0},
        {"step": 10, "loss": 1.0},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    model = run.experiment().model
    # 1,000 tokens are those of 20 pairs of 25 + 25 tokens.
    operations = training_operations(model, 20, 25)
    assert progress_of(run) == [
        RowProgress(pytest.approx(operations), 3.5, 1.25),
        RowProgress(pytest.approx(2 * operations), 7.0, None),
    ]


def test_r_drop_computes_each_batch_twice():
    experiment = load_experiment("multi30k")
    once = operations_per_token(experiment)
    experiment.training.r_drop = 5.0
    assert operations_per_token(experiment) == 2 * once


@pytest.mark.parametrize(
    ("operations", "unit", "label"), [(4e15, 1e15, "10¹⁵"), (9e14, 1e12, "10¹²")]
)
def test_the_picture_has_a_panel_for_operations_and_one_for_minutes(
    tmp_path, monkeypatch, operations, unit, label
):
    drawn = []
    monkeypatch.setattr(table2_progress, "draw_panels", lambda *given: drawn.append(given))
    rows = {
        "ende_base": [
            [RowProgress(operations, 100.0, 11.0), RowProgress(2 * operations, 240.0, None)],
            [RowProgress(operations, 140.0, 13.0), RowProgress(2 * operations, 280.0, 20.0)],
        ],
        "ende_gnmt": [[RowProgress(operations, 60.0, None)]],
        "ende_moe": [[RowProgress(operations, 60.0, 4.0)]],
    }
    draw_progress(tmp_path / "table2.png", rows)
    ((_, (by_operations, by_minutes)),) = drawn
    assert by_operations.x_label == f"operations of training, {label}"
    ((x, y),) = by_operations.lines["ende_base"].items()
    assert (x, y) == (pytest.approx(operations / unit), 12.0)
    assert by_minutes.lines == {"ende_base": {2.0: 12.0}, "ende_moe": {1.0: 4.0}}
    assert by_minutes.bands == {"ende_base": {2.0: (11.0, 13.0)}}, "only several seeds have a range"
    draw_progress(tmp_path / "table2.png", {"ende_base": [[RowProgress(1.0, 1.0, None)]]})
    assert len(drawn) == 1, "there is no picture without translations"
