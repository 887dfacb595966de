"""The training sections of a report state what happened."""

import pytest

from t2t_keras.experiment import Experiment
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.visualization.document import html_of
from t2t_keras.visualization.report import RunFacts
from t2t_keras.visualization.training_report import HISTORY_ROWS, history, loss_text, schedule


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"steps": 16_000}, "It rises to 6.99e-04 during the warm-up of 4,000 steps, then falls"),
        (
            {"steps": 1000},
            "rises throughout, to 1.75e-04 at step 1,000, because the warm-up has 4,000",
        ),
        (
            {"steps": 16_000, "schedule": "constant", "learning_rate": 1e-4},
            "It rises to 1.00e-04 during the warm-up of 4,000 steps, and stays there.",
        ),
    ],
)
def test_the_schedule_is_described(settings, text):
    experiment = Experiment(training=TrainingConfig(**settings))
    facts = RunFacts("run", experiment, experiment, {}, [], {}, [])
    assert text in html_of(schedule(facts))


@pytest.mark.parametrize(
    ("losses", "text"),
    [
        ([5.0], "The held-out loss was 5.00 at step 1."),
        ([5.0, 4.0], "4.00 at the last evaluation, step 2. It was still falling."),
        ([5.0, 4.0, 4.5], "4.50 at the last evaluation, step 3. It was lowest at step 2: 4.00."),
        ([5.0, float("nan")], "The held-out loss was 5.00 at step 1."),
        ([5.0, None], "The held-out loss was 5.00 at step 1."),
        ([None], "No loss was recorded."),
    ],
)
def test_the_course_of_the_loss_is_described(losses, text):
    evaluations = [{"step": step, "loss": loss} for step, loss in enumerate(losses, 1)]
    assert loss_text(evaluations).endswith(text)


def test_the_history_is_thinned_and_ends_with_the_last_evaluation():
    html = html_of(history([{"step": step, "loss": 1.0} for step in range(1, 101)]))
    assert html.count("<tr>") - 1 <= HISTORY_ROWS
    assert '<td class="number">100</td>' in html and "bleu" not in html
