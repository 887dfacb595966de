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
FLAGS = [f"--{name}={value}" for name, value in SETTINGS.items()]


@pytest.fixture
def no_children(monkeypatch):
    """Calls functions directly: this process may have started its backend."""
    monkeypatch.setattr(table1, "call_in_child", lambda function, *args: function(*args))


def lines_of(folder):
    path = folder / "table1.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def write_results(folder, costs, **changed):
    """Writes results as if they had been measured on this machine.

    Args:
        folder: output folder of the table.
        costs: tuples of layer, n and seconds.
        **changed: settings that differ from `SETTINGS`.
    """
    settings = SETTINGS | {"backend": "tensorflow", "machine": this_machine()} | changed
    with (folder / "table1.jsonl").open("w") as file:
        for layer, n, cost in costs:
            figures = {"forward": cost, "training": 3 * cost, "memory": 1e12 * cost}
            file.write(json.dumps({"layer": layer, "n": n, **figures, **settings}) + "\n")


@pytest.mark.long
def test_a_table_resumes_and_measures_nothing_twice(tmp_path):
    write_results(tmp_path, [("self-attention", 16, 1e-3)])
    first = lines_of(tmp_path)
    arguments = ["table1", f"--output={tmp_path}", *FLAGS, "--lengths=16"]
    result = command("reproduce", *arguments)
    assert result.returncode == 0, result.stderr
    lines = lines_of(tmp_path)
    assert lines[:1] == first
    measured = {(line["layer"], line["n"]): line for line in map(json.loads, lines)}
    assert len(measured) == len(lines)
    for layer in EXPONENTS:
        line = measured[layer, 16]
        assert line["forward"] > 0 and line["training"] > 0
        # The output and the buffers of a convolution, but not the whole process.
        assert layer == "self-attention" or 16 * 16 * 4 <= line["memory"] < 1e8
    assert (tmp_path / "table1.md").read_text() == result.stdout
    assert f"--output={tmp_path}" in result.stdout.splitlines()[-1], "the command line"


@pytest.mark.long
def test_exponents_are_fitted_from_1024_on(tmp_path, no_children):
    """The costs are powers of n from 1,024 on and constant below."""
    write_results(
        tmp_path,
        [
            (layer, n, 1e-9 * max(n, 1000) ** exponent)
            for layer, exponent in EXPONENTS.items()
            for n in (64, 1024, 2048, 8192)
        ],
    )
    before = lines_of(tmp_path)
    plan = Plan("table1", output=tmp_path, lengths=[64, 8192, 1024, 2048], **SETTINGS)
    text = reproduce(plan)
    assert lines_of(tmp_path) == before, "everything is known"
    assert "There is no exponent" not in text
    assert "n < 2·d = 32" in text and f", {this_machine()}\n" in text
    rows = list(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    assert len(rows) == 15
    for row in rows:
        assert float(row["exponent of n"]) == EXPONENTS[row["layer"]]
    first = ["forward, ms", "self-attention", "O(n²·d)", "1.0", "1.0", "4.2", "67.1", "2.00"]
    assert list(rows[0].values()) == first
    assert matplotlib.image.imread(tmp_path / "table1.png").shape[1] > 1000


@pytest.mark.parametrize("name", ["d_model", "machine"])
def test_results_of_other_settings_are_refused(tmp_path, name, no_children):
    write_results(tmp_path, [("recurrent", 64, 1.0)], **{name: 32})
    message = f"was measured with {name}=32.* different --output. Received: {name}="
    with pytest.raises(ValueError, match=message):
        reproduce(Plan("table1", output=tmp_path, **SETTINGS))
