"""Size by data: nine models on three texts, the best of each text, and the rise after the best."""

import itertools
import types

import pytest
from support.runs.claim_runs import CurveOnly, UntrainedRuns

from t2t_keras.reproduction.claims import size_by_data
from t2t_keras.reproduction.claims.finding import write_finding
from t2t_keras.reproduction.claims.size_by_data import PAIRS, WIDTHS


@pytest.mark.long
def test_texts_share_the_vocabulary_of_the_largest_models_differ_in_width(tmp_path, monkeypatch):
    asked, runs = [], UntrainedRuns(tmp_path)

    def encoded(folder, recipe, vocabulary=None):
        asked.append((recipe.experiment.data.toy_pairs, vocabulary))
        return types.SimpleNamespace(folder=folder)

    monkeypatch.setattr(size_by_data, "encoded_toy_grammar", encoded)
    monkeypatch.setattr(size_by_data, "millions_of", lambda run: 0.25)
    found = size_by_data.finding(runs)
    vocabulary = tmp_path / f"text-{PAIRS[-1]}" / "vocabulary"
    assert asked == [(PAIRS[-1], None), *((pairs, vocabulary) for pairs in PAIRS[:-1])]
    shapes = [
        (c["model.d_model"], c["model.d_ff"], c["data.toy_pairs"]) for c in runs.changes.values()
    ]
    assert shapes == [(width, 2 * width, pairs) for pairs in PAIRS for width in WIDTHS]
    assert {c["training.steps"] for c in runs.changes.values()} == {1500}
    text = write_finding(tmp_path, "size_by_data", found)
    assert "2.00 / 2.00" in text and found.tables["size_by_data"][0]["10³ weights"] == "250"
    assert (tmp_path / "size_by_data.png").exists()


def test_the_best_evaluation_counts():
    run = CurveOnly("run", 3.0)
    high, low = run.evaluations()
    run.evaluations = lambda required=False: [{**low, "step": 100}, {**high, "step": 200}]
    cells = size_by_data.row(WIDTHS[0], 5.0, dict.fromkeys(itertools.product(WIDTHS, PAIRS), run))
    assert cells[f"perplexity, {PAIRS[0]:,} pairs"] == "3.00 / 6.00"
    assert cells[f"BLEU, {PAIRS[0]:,} pairs"] == "33.3"
