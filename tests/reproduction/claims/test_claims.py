"""All experiments that are asked for: their stages, what is written, and what is refused."""

import json
import subprocess
from pathlib import Path

import pytest

from t2t_keras.experiment import load_experiment
from t2t_keras.reproduction import Plan, claims, reproduce
from t2t_keras.runs.settings_file import write_settings
from t2t_keras.stages import stages

METRICS = {"step": 1, "perplexity": 4.0, "bleu": 25.0}


@pytest.fixture
def started(monkeypatch):
    """Replaces stages by files that look as if they had run; returns the flags of each stage."""
    flags = []

    def start(command, words, log):
        given = dict(word.lstrip("-").split("=", 1) for word in words if "=" in word)
        flags.append({"command": command, **given})
        if command == "prepare":
            folder = Path(given["output"])
            folder.mkdir()
            (folder / "report.json").write_text("{}")
        else:
            folder = Path(given["run"])
            (folder / "checkpoints").mkdir(parents=True)
            (folder / "checkpoints" / "step-00000001.npz").touch()
            (folder / "metrics.jsonl").write_text(json.dumps(METRICS) + "\n")
            experiment = load_experiment(given["config"])
            experiment.training.steps = 1
            write_settings(folder / "config.json", experiment)
        return subprocess.Popen(["true"])

    monkeypatch.setattr(stages, "start_command", start)
    # This process may have started its backend.
    monkeypatch.setattr(claims, "call_in_child", lambda function, *args: function(*args))
    return flags


@pytest.mark.long
def test_each_variant_is_trained_once(tmp_path, started):
    short = {"steps": 1, "overrides": {"data.toy_pairs": 300}}
    plan = Plan("claims", rows=["scale"], output=tmp_path, **short)
    text = reproduce(plan)
    variants = [
        (flags.get("config.model.attention", "scaled"), flags.get("config.model.num_heads", "8"))
        for flags in started[1:]
    ]
    assert started[0]["command"] == "prepare"
    assert variants == [("scaled", "8"), ("unscaled", "8"), ("scaled", "1"), ("unscaled", "1")]
    assert reproduce(plan) == text == (tmp_path / "claims.md").read_text()
    assert len(started) == 5, "the second call trains nothing"
    assert "## Scores are divided by √d_k" in text
    assert (tmp_path / "scale.png").exists()


def test_another_search_is_refused(tmp_path):
    plan = Plan("claims", overrides={"search.beam": 4}, output=tmp_path)
    with pytest.raises(ValueError, match=r"greedy search .* Leave out --config\.search\.beam"):
        reproduce(plan)
