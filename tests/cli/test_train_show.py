"""t2t-train --show: all settings, and nothing else happens."""

import os
import re

import pytest
from support.processes.in_process import ended, refused

from t2t_keras.experiment import load_experiment
from t2t_keras.runs.settings_file import write_settings
from t2t_keras.translating.request import descriptions


def show(*arguments):
    """Returns {setting: (value, its default in words)} and the text of t2t-train --show."""
    result = ended("train", "--show", *arguments)
    assert result.returncode == 0, result.stderr
    form = r"^  ([\w.]+) = (.*?)(?:\n {5})? +\(([^()]*(?:\(\))?)\)$"
    found = re.findall(form, result.stdout, re.M)
    return {name: (value, remark) for name, value, remark in found}, result.stdout


def test_every_setting_is_listed_with_its_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    settings, text = show(
        *("--config=multi30k:shallow", "--data=data/mine", "--freeze=encoder"),
        *("--config.training.steps=500", "--config.model.d_ff=2048", "--dev=a=a.en,a.de"),
    )
    expected = load_experiment("multi30k:shallow")
    assert settings.keys() == expected.flat().keys()
    changed = {
        "model.d_ff": ("2048", "default"),
        "training.steps": ("500", "default 100000"),
        "training.freeze": ("('encoder',)", "default ()"),
        "data.folder": ("'data/mine'", "default ''"),
        "data.dev": ("('a=a.en,a.de',)", "default ()"),
        "model.num_layers": ("2", "default 6"),
        "search.beam": ("4", "default"),
    }
    assert {name: settings[name] for name in changed} == changed
    assert text.startswith("All settings. ")
    words = " ".join(text.split())
    for part in (expected.model, expected.training, expected.data.batches):
        assert all(meaning in words for meaning in descriptions(type(part)).values())
    assert max(map(len, text.splitlines())) <= 80, "as in a pipe"
    assert os.listdir(tmp_path) == []


def test_the_settings_of_a_run_are_shown_and_those_of_init(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = load_experiment("multi30k")
    experiment.training.steps, experiment.search.beam = 1234, 6
    (tmp_path / "run").mkdir()
    write_settings(tmp_path / "run" / "config.json", experiment)
    settings, _ = show("--run=run", "--config.search.beam=8")
    assert settings["training.steps"] == ("1234", "default 100000")
    assert settings["search.beam"] == ("8", "default 4")
    settings, _ = show("--init=run", "--run=new", "--config.search.alpha=1.0")
    assert settings["model.d_model"] == ("128", "default 512")
    assert settings["search.beam"] == ("6", "default 4")
    assert settings["search.alpha"] == ("1.0", "default 0.6")
    assert settings["training.learning_rate"][1].startswith("default ")
    assert "run was started without --init" in refused("train", "--show --run=run --init=other")
    assert os.listdir(tmp_path) == ["run"] and os.listdir("run") == ["config.json"]


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--tpu=local", "--tpu has no effect with --show"),
        ("--config.model.dropout=1.5", "`model.dropout` must be"),
    ],
)
def test_a_mistake_is_named(flag, message):
    assert message in refused("train", f"--show --config=base {flag}")
