"""Many heads against one: the figures of both models side by side."""

import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.reproduction.claims import heads
from t2t_keras.reproduction.claims.finding import write_finding


def result_of(count, bleu):
    """Returns an analysis as if the n-th head of cross-attention cost n + 1 BLEU."""
    return {
        "bleu": bleu,
        "heads": [
            {
                "sublayer": f"decoder/0/{kind}_attention",
                "head": head,
                "entropy": 1.5 + head,
                "distance": 2.0 if kind == "self" else None,
                "agreement": 0.5 + head / 20 if kind == "cross" else None,
                "bleu": bleu - (1 + head) * (kind == "cross"),
            }
            for kind in ("self", "cross")
            for head in range(count)
        ],
    }


@pytest.mark.long
def test_both_models_are_analysed_once(tmp_path, monkeypatch):
    calls = []

    def measure(run, step):
        calls.append(step)
        return result_of(*[(8, 60.0), (1, 50.0)][len(calls) - 1])

    class Runs(UntrainedRuns):
        def trained(self, name, changes, text=None):
            run = super().trained(name, changes)
            run.folder = tmp_path / name / "run"
            run.folder.mkdir(parents=True, exist_ok=True)
            run.experiment = lambda: self.recipe(changes).experiment
            return run

    monkeypatch.setattr(heads, "measure", measure)
    runs = Runs(tmp_path)
    texts = [write_finding(tmp_path, "heads", heads.finding(runs)) for _ in range(2)]
    assert texts[0] == texts[1] and calls == [1000, 1000]
    assert "from 1.50 to 8.50 nats, with one head from 1.50 to 1.50" in texts[0]
    assert "BLEU 60.0 and 50.0" in texts[0]
    removed = "at most 8.0; removing the only head of a sub-layer costs 0.5 and at most 1.0"
    assert removed in texts[0]
    table = (tmp_path / "heads.csv").read_text().splitlines()
    assert table[-1] == "one head,cross 1,1.50,,0.50,49.0"
    assert (tmp_path / "heads.png").stat().st_size > 10_000
