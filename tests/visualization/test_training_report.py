"""The training sections of a report state what happened."""

import re

import pytest

from t2t_keras.experiment import Experiment
from t2t_keras.schedules import DECAYS
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.visualization.document import html_of
from t2t_keras.visualization.report import RunFacts
from t2t_keras.visualization.training_report import (
    HISTORY_ROWS,
    formula,
    history,
    learning,
    loss_text,
    schedule,
)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"steps": 16_000}, "It rises to 6.99e-04 during the warm-up of 4,000 steps, then falls"),
        (
            {"steps": 1000},
            "rises throughout, to 1.75e-04 at step 1,000, because the warm-up has 4,000",
        ),
        (
            {"steps": 16_000, "schedule": "linear", "learning_rate": 1e-4},
            "1.00e-04 during the warm-up of 4,000 steps, then falls linearly, to 8.33e-09 at step",
        ),
    ],
)
def test_the_schedule_is_described(settings, text):
    assert text in html_of(schedule(facts_of(**settings)))


def facts_of(**settings):
    """Returns the `RunFacts` of a run with training settings."""
    experiment = Experiment(training=TrainingConfig(**settings))
    return RunFacts("run", experiment, experiment, {}, [], [], {}, [])


@pytest.mark.parametrize("name", ["paper", *DECAYS])
def test_the_formula_is_that_of_the_schedule(name):
    rate = {} if name == "paper" else {"learning_rate": 0.002}
    facts = facts_of(schedule=name, steps=400, warmup_steps=100, **rate)
    written = formula(facts.experiment)
    for sign, operator in (("·", "*"), ("−", "-"), ("^", "**")):
        written = written.replace(sign, operator)
    for step in (1, 90, 100, 400):
        expected = float(facts.experiment.schedule()(step - 1))  # Keras counts from 0
        assert eval(written, {"step": step}) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("losses", "text"),
    [
        ([5.0], "The held-out loss was 5.00 at step 1."),
        ([5.0, 4.0], "4.00 at the last evaluation, step 2. It was still falling."),
        ([5.0, 4.0, 4.5], "4.50 at the last evaluation, step 3. It was lowest at step 2: 4.00."),
        ([5.0, float("nan")], "The held-out loss was 5.00 at step 1."),
        ([None], "No training loss was recorded."),
    ],
)
def test_the_course_of_the_loss_is_described(losses, text):
    evaluations = [{"step": step, "loss": loss} for step, loss in enumerate(losses, 1)]
    assert loss_text(evaluations).endswith(text)


def test_the_history_is_thinned_and_ends_with_the_last_evaluation():
    html = html_of(history([{"step": step, "loss": 1.0} for step in range(1, 101)]))
    assert html.count("<tr>") - 1 <= HISTORY_ROWS
    assert '<td class="number">100</td>' in html and "bleu" not in html


SETS = [
    {"step": 1, "loss": 5.0, "train_loss": 6.0},  # before the sets had names
    {"step": 2, "loss": 4.0, "general/loss": 4.0, "general/bleu": 20.0, "my_own/loss": 3.0},
    {"step": 3, "loss": 4.5, "general/loss": 4.5, "general/bleu": 19.0, "my_own/loss": 2.0},
]


def test_the_course_of_each_named_set_is_described():
    assert loss_text(SETS) == (
        "The held-out loss of general was 4.00 at step 2 and 4.50 at the last evaluation, step 3. "
        "It was lowest at step 2: 4.00. The held-out loss of my_own was 3.00 at step 2 and 2.00 at "
        "the last evaluation, step 3. It was still falling."
    )


def test_the_history_has_columns_for_each_named_set():
    html = html_of(history(SETS))
    titles = re.findall("<th[^>]*>([^<]*)</th>", html)
    assert titles == [
        *("step", "train loss", "loss", "general loss", "general bleu", "my_own loss")
    ]
    cells = re.findall("<td[^>]*>([^<]*)</td>", html)
    assert cells[-6:] == ["3", "–", "–", "4.500", "19.0", "2.000"]


def test_a_run_without_an_evaluation_is_described_by_its_training_loss():
    intervals = [{"step": step, "loss": 6.0 - step, "tokens": 9} for step in (1, 2)]
    facts = facts_of()._replace(intervals=intervals)
    text = html_of(learning(facts))
    assert "The training loss was 5.00 at step 1 and 4.00 at step 2. It was still falling." in text
    assert "<img" in text and "<table" not in text
    assert facts.latest == intervals[-1]
    evaluations = [{"step": 2, "loss": 3.0}]
    assert facts._replace(evaluations=evaluations).latest == evaluations[0]
    assert "no evaluation yet" in html_of(learning(facts_of()))
