"""Positions beyond those of training: BLEU by length of each kind."""

from unittest.mock import create_autospec

import numpy as np
import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.evaluation.by_length import LengthGroup
from t2t_keras.reproduction.claims import positions
from t2t_keras.reproduction.claims.finding import write_finding


def groups_of(scores):
    return [
        LengthGroup(end - 9, end, 50, score, None)
        for end, score in zip((10, 20, 60), scores, strict=True)
    ] + [LengthGroup(61, None, 3, 0.0, None)]


def test_kinds_differ_in_their_positions_only(tmp_path, monkeypatch):
    scores = iter([(90, 80, 20), (91, 81, 1), (50, 40, 10)])
    monkeypatch.setattr(positions, "chained_text", lambda toy_runs: None)
    monkeypatch.setattr(positions, "by_length", lambda *_: groups_of(next(scores)))
    runs = UntrainedRuns(tmp_path)
    write_finding(tmp_path, "positions", positions.finding(runs))
    assert [changes.pop("model.positions") for changes in runs.changes.values()] == [
        *("sinusoidal", "learned", "none")
    ]
    assert {changes["data.batches.max_length"] for changes in runs.changes.values()} == {21}
    table = (tmp_path / "positions.csv").read_text().splitlines()
    assert table[0] == "positions,1–10,11–20,51–60,61–…"
    assert table[2] == "learned,91.0,81.0,1.0,0.0"


def test_lines_of_a_length_are_counted_in_tokens(tmp_path, monkeypatch):
    class Tokens:
        source = property(lambda self: self)

        def encode(self, texts):
            return [np.zeros(3 * len(text.split())) for text in texts]

    class Run:
        folder = tmp_path / "run"
        tokenizer = staticmethod(Tokens)

        def experiment(self):
            return UntrainedRuns(tmp_path).recipe({}).experiment

    for name in ("test.en", "test.de", "test.out"):
        (tmp_path / name).write_text("a b c d\na b c d e f g\n")
    translate = create_autospec(positions.translate)
    monkeypatch.setattr(positions, "translate", translate)
    text = type("Text", (), {"stages": None})
    groups = positions.by_length(Run(), text, tmp_path)
    assert [(group.last, group.lines) for group in groups] == [(20, 1), (30, 1)]
    assert groups[0].score == pytest.approx(100)
    (_, stage, [(run, weights)], _, source, output), _ = translate.call_args
    step = run.experiment().training.steps
    assert (stage, run.folder, weights.name) == ("translate", Run.folder, str(step))
    assert (source, output) == (tmp_path / "test.en", tmp_path / "test.out")
