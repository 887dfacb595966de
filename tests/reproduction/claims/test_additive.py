"""Additive attention beside dot products: costs that are measured once, and the runs compared."""

import pytest
from support.runs.claim_runs import UntrainedRuns

from t2t_keras.reproduction.claims import additive
from t2t_keras.reproduction.claims.additive import LENGTHS
from t2t_keras.reproduction.claims.finding import write_finding


@pytest.mark.long
def test_costs_are_measured_once_and_compared(tmp_path, monkeypatch):
    calls = []

    def measure():
        calls.append(1)
        factors = {"scaled": 1, "unscaled": 1, "additive": 20}
        return {
            name: [
                {"forward": factor * n / 1e3, "training": factor * n / 1e3, "memory": factor * n}
                for n in LENGTHS
            ]
            for name, factor in factors.items()
        }

    monkeypatch.setattr(additive, "measure", measure)
    runs = UntrainedRuns(tmp_path)
    texts = [write_finding(tmp_path, "additive", additive.finding(runs)) for _ in range(2)]
    assert texts[0] == texts[1] and len(calls) == 1
    assert "takes 20.0 times as long as with scaled dot products and 20.0 times" in texts[0]
    assert "2.00 scaled, 5.00 unscaled, 8.00 additive at d_k = 16, and 4.00 scaled" in texts[0]
    assert len(runs.changes) == 9
    assert (tmp_path / "additive.png").stat().st_size > 10_000
