"""Table 1: measurements that are made once, exponents, and the files written."""

import csv
import json

import matplotlib.image
import pytest
from support.processes.commands import command

from t2t_keras.reproduction import Plan, reproduce, table1
from t2t_keras.stages.table_writer import this_machine

EXPONENTS = {
    "self-attention": 2,
    "recurrent": 1,
    "convolutional": 1,
    "separable convolutional": 1,
    "restricted self-attention": 1,
}
SETTINGS = {"d_model": 16, "heads": 4, "neighbourhood": 5, "kernel": 3, "rounds": 1}


@pytest.fixture
def measured(monkeypatch):
    """Replaces the measurements; returns a list with the lengths of each layer measured.

    The costs are powers of n from 1,024 on and constant below.
    """
    found, exponents = [], iter(EXPONENTS.values())

    def costs(new_layer, lengths, width, rounds):
        exponent = next(exponents)
        found.append(lengths)
        powers = [1e-9 * max(n, 1000) ** exponent for n in lengths]
        return [{"forward": c, "training": 3 * c, "memory": 1e12 * c} for c in powers]

    # This process may have started its backend.
    monkeypatch.setattr(table1, "call_in_child", lambda function, *args: function(*args))
    monkeypatch.setattr(table1, "costs", costs)
    return found


@pytest.mark.long
def test_the_layers_are_measured(tmp_path):
    flags = [f"--{name}={value}" for name, value in SETTINGS.items()]
    result = command("reproduce", "table1", f"--output={tmp_path}", *flags, "--lengths=16")
    assert result.returncode == 0, result.stderr
    for layer in EXPONENTS:
        (costs,) = json.loads((tmp_path / f"{layer.replace(' ', '_')}.json").read_text())["result"]
        assert costs["forward"] > 0 and costs["training"] > 0
        # The output and the buffers of a layer, but not the whole process.
        assert 16 * 16 * 4 <= costs["memory"] < 1e8
    assert (tmp_path / "table1.md").read_text() == result.stdout
    assert f"--output={tmp_path}" in result.stdout.splitlines()[-1], "the command line"


@pytest.mark.long
def test_nothing_is_measured_twice_and_exponents_are_fitted_from_1024_on(tmp_path, measured):
    plan = Plan("table1", output=tmp_path, lengths=[64, 8192, 1024, 2048], **SETTINGS)
    text = reproduce(plan)
    assert reproduce(plan) == text and measured == 5 * [(64, 1024, 2048, 8192)]
    assert "There is no exponent" not in text
    assert "n < 2·d = 32" in text and f", {this_machine()}\n" in text
    rows = list(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    assert len(rows) == 15
    for row in rows:
        assert float(row["exponent of n"]) == EXPONENTS[row["layer"]]
    first = ["forward, ms", "self-attention", "O(n²·d)", "1.0", "1.0", "4.2", "67.1", "2.00"]
    assert list(rows[0].values()) == first
    assert matplotlib.image.imread(tmp_path / "table1.png").shape[1] > 1000


def test_a_layer_that_does_not_fit_into_memory_is_named(tmp_path, measured, monkeypatch):
    monkeypatch.setattr(table1, "costs", lambda *_: 1 / 0)
    with pytest.raises(ValueError, match=r"self-attention could not be measured .division by zero"):
        reproduce(Plan("table1", output=tmp_path, **SETTINGS))
