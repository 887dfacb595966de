"""Path length: one kind of encoder each, and what is said about their gradients."""

import csv
import math

import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.models import architecture_of
from t2t_keras.reproduction.claims import path_length
from t2t_keras.reproduction.claims.finding import write_finding


@pytest.mark.long
def test_kinds_are_trained_on_the_same_lines_and_compared_by_distance(tmp_path, monkeypatch):
    text, lines = object(), ["a line"]
    reaching = {"path-restricted": 39, "path-convolutional": 4}
    monkeypatch.setattr(path_length, "encoded_chains", lambda *_: text)
    monkeypatch.setattr(path_length, "read_lines", lambda _: lines)

    def gradients(run, read):
        assert read is lines
        far = reaching.get(run.name, 60)
        layers = path_length.LAYERS
        return [
            [2 / (1 + d) if d <= far / (layers - k) else 0 for d in range(60)]
            for k in range(layers)
        ]

    monkeypatch.setattr(path_length, "gradients", gradients)
    runs = UntrainedRuns(tmp_path)
    found = write_finding(tmp_path, "path_length", path_length.finding(runs))
    assert set(runs.texts.values()) == {text}
    kinds = [
        architecture_of(runs.recipe(changes, runs.configs[name]).experiment.model)
        for name, changes in runs.changes.items()
    ]
    assert kinds == ["transformer", "transformer", "gnmt", "convs2s", "bytenet"]
    assert "It is zero beyond 39 (restricted), 4 (convolutional) positions. " in found
    assert "over 4 positions, relative to that at distance 0, is 0.2 (self-attention)" in found
    with open(tmp_path / "path_length.csv", encoding="utf-8") as file:
        rows = {row["layers of the encoder"]: row for row in csv.DictReader(file)}
    row = rows["convolutional, k = 3 (ConvS2S)"]
    last = f"after {path_length.LAYERS}"
    assert (row["farthest after 1 layer"], row[last]) == ("1", "4")
    assert (row["gradient over 4"], row["gradient over 16"]) == ("0.2", "0")


def test_the_learning_rate_is_a_share_of_any_schedules(tmp_path):
    """A rate that suits the paper's schedule only would be refused after the other experiments."""
    linear = {"training.schedule": "linear", "training.learning_rate": 2.4e-3}
    for overrides, rate in ((None, 0.25), (linear, 1e-3)):
        runs = UntrainedRuns(tmp_path, overrides)
        training = runs.recipe(path_length.shared_changes(runs)).experiment.training
        assert math.isclose(training.learning_rate, rate)


def test_a_training_that_diverged_has_gradients_without_value():
    layers = path_length.relative([[math.nan, math.nan], [0.0, 0.0], [2.0, 1.0]])
    assert [path_length.farthest(layer) for layer in layers] == [0, 0, 1]
    assert layers[2] == [1.0, 0.5]
