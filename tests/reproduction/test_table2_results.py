"""The costs in Table 2's rows."""

import json

import pytest

from t2t_keras.experiment import load_experiment
from t2t_keras.reproduction.table2_results import epochs_of
from t2t_keras.runs import Run
from t2t_keras.runs.settings_file import write_settings


def side(pieces, dropout):
    figures = {"words": 100, "pieces": pieces, "pieces_a_word": pieces / 100}
    return figures | {"pieces_a_word_with_dropout": dropout}


def test_epochs_are_counted_in_the_tokens_that_were_read(tmp_path):
    """Of four encodings, three have dropout; each of the 30 pairs has two end tokens."""
    report = {"encodings": 4, "sides": {"source": side(150, 1.9), "target": side(190, 2.3)}}
    tokens_of_an_epoch = (150 + 3 * 190) / 4 + (190 + 3 * 230) / 4 + 2 * 30
    run, data = Run(tmp_path / "run"), tmp_path / "data"
    experiment = load_experiment("multi30k")
    experiment.data.folder = str(data)
    for folder in (run.folder, data):
        folder.mkdir()
    write_settings(run.config_file, experiment)
    (run.folder / "metrics.jsonl").write_text(
        json.dumps({"step": 9, "tokens": 3 * tokens_of_an_epoch}) + "\n"
    )
    (data / "report.json").write_text(json.dumps(report | {"counts": {"kept": 30}}))
    assert epochs_of(run) == pytest.approx(3)
