"""Heads that follow structure: what is said about them, whichever way it comes out."""

import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.reproduction.claims import structure
from t2t_keras.reproduction.claims.finding import write_finding
from t2t_keras.reproduction.claims.relation_analysis import DRAWN, ROWS

HEADS = 8


def result_of(largest):
    """Returns an analysis in which head 2 of layer 3 is the best for everything."""
    found = {
        "cases": 50,
        "distance": 3.0,
        "chance": 0.04,
        "offset": -1,
        "fixed": 0.6,
        "untrained": 0.05,
        "head": [2, 1],
        "share": 0.7,
        "largest": largest,
        "shares": [0.1] * (structure.LAYERS * HEADS),
    }
    without = {
        f"{name}_attention": [0.9] * HEADS
        for layer in range(structure.LAYERS)
        for name in (f"encoder/{layer}/self", f"decoder/{layer}/self", f"decoder/{layer}/cross")
    }
    without["encoder/2/self_attention"][1] = 0.6
    without["decoder/1/self_attention"][4] = 0.4
    weights = [[0.5, 0.5], [1.0, 0.0]]
    return {
        "rows": dict.fromkeys(ROWS, found),
        "distances": {kind: {"1": 0.5, "2": 0.7} for kind, _ in ROWS.values()},
        "pronouns": {"cases": 100, "right": 0.95, "without": without},
        "example": {
            "words": ["It.", "end"],
            "links": {name: [[1, 0]] for name in DRAWN},
            "weights": dict.fromkeys(DRAWN, weights),
        },
    }


@pytest.mark.long
def test_the_outcome_is_told_either_way(tmp_path, monkeypatch):
    class Runs(UntrainedRuns):
        def trained(self, name, changes, text=None):
            run = super().trained(name, changes, text)
            run.folder = tmp_path / name / "run"
            run.folder.mkdir(parents=True, exist_ok=True)
            run.experiment = lambda: self.recipe(changes).experiment
            return run

    monkeypatch.setattr(structure, "encoded_toy_documents", lambda *_: object())
    texts = []
    for largest in (0.9, 0.2):
        monkeypatch.setattr(structure, "measured_once", lambda *_, n=largest: result_of(n))
        runs = Runs(tmp_path)
        texts.append(write_finding(tmp_path, "structure", structure.finding(runs)))
    assert runs.changes["structure"]["training.steps"] == 4000
    assert "For 7 of 7 kinds of links" in texts[0] and "for 7, it is there" in texts[0]
    assert "For 0 of 7 kinds of links" in texts[1]
    guess = "(always the same gender: at most 39%)"
    assert f"in 95% of 100 documents {guess}, and in 60% without the encoder's" in texts[0]
    assert "right least often, 40%, is head 5 of decoder 2" in texts[0]
    assert "| 3.2" in texts[0] and "60% (-1)" in texts[0]
    for name in ("structure", "structure-heads"):
        assert f"({name}.png)" in texts[0]
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000
