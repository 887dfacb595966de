"""Parts left out: what each variant changes, and how the figures are compared."""

import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.experiment import differences
from t2t_keras.reproduction.claims.finding import write_finding
from t2t_keras.reproduction.claims.parts import finding, highest_rate
from t2t_keras.training.training_config import TrainingConfig


def test_each_variant_leaves_out_one_part(tmp_path):
    runs = UntrainedRuns(tmp_path)
    text = write_finding(tmp_path, "parts", finding(runs))
    complete, *others = (runs.recipe(changes).experiment for changes in runs.changes.values())
    changed = [differences(complete, other) for other in others]
    assert changed[:3] == [
        {"model.residual": (True, False)},
        {"model.layer_norm": (True, False)},
        {"training.label_smoothing": (0.1, 0.0)},
    ]
    assert differences(others[3], others[4]) == {"training.warmup_steps": (200, 1)}
    assert "the complete model are 2.00 and 50.0; they are 3.00 and 33.3 without res" in text
    assert "6.00 and 16.7 after a warm-up and 7.00 and 14.3 without one" in text
    assert "without residuals,3.000,+1.000,33.3,-16.7" in (tmp_path / "parts.csv").read_text()


def test_the_constant_rate_is_the_highest_of_the_schedule(tmp_path):
    runs = UntrainedRuns(tmp_path)
    finding(runs)
    complete, *_, constant, _ = (
        runs.recipe(changes).experiment for changes in runs.changes.values()
    )
    end = complete.training.warmup_steps - 1  # steps count from 0
    rates = [float(each.schedule()(end)) for each in (complete, constant)]
    assert rates[0] == pytest.approx(rates[1], rel=1e-5)


@pytest.mark.parametrize("schedule", ["inverse_sqrt", "linear", "constant"])
def test_other_schedules_than_the_papers_are_named_by_their_highest_rate(schedule):
    training = TrainingConfig(schedule=schedule, learning_rate=1e-3)
    assert highest_rate(training, d_model=128) == 1e-3
