"""The paper's tables, each by one command."""

import csv
import json

import matplotlib.image
import pytest
from commands import command

LAYERS = {
    "self-attention": 2,
    "recurrent": 1,
    "convolutional": 1,
    "separable convolutional": 1,
    "restricted self-attention": 1,
}
SETTINGS = {"d_model": 16, "heads": 4, "neighbourhood": 5, "kernel": 3, "rounds": 1}
FLAGS = [f"--{name}={value}" for name, value in SETTINGS.items()]


def table1(folder, *flags):
    return command("reproduce", "table1", f"--output={folder}", *FLAGS, *flags)


def lines_of(folder):
    return (folder / "table1.jsonl").read_text().splitlines()


def test_table1_goes_on_where_it_was_interrupted(tmp_path):
    flags = [f"--output={tmp_path}", *FLAGS, "--lengths=16,24,32"]
    stopped = command("reproduce", "table1", *flags, interrupt_after=4)
    assert stopped.returncode == 130, stopped.stderr
    assert "goes on from here" in stopped.stderr
    first = lines_of(tmp_path)
    with (tmp_path / "table1.jsonl").open("a") as file:
        file.write('{"layer": "recurr')  # as if it had been killed while it wrote
    result = table1(tmp_path, "--lengths=16")
    assert result.returncode == 0, result.stderr
    lines = lines_of(tmp_path)
    assert lines[: len(first)] == first
    del lines[len(first)]
    measured = {(line["layer"], line["n"]): line for line in map(json.loads, lines)}
    assert len(measured) == len(lines)
    for layer in LAYERS:
        line = measured[layer, 16]
        assert line["forward"] > 0 and line["training"] > 0
        assert 16 * 16 * 4 <= line["memory"] < 1e6  # the output, and not the whole process
    again = table1(tmp_path, "--lengths=16")
    assert (
        again.stdout
        == result.stdout
        == (tmp_path / "table1.md").read_text()
        + (f"\n{tmp_path}/table1.md, table1.csv, table1.png\n")
    )


def test_table1_fits_the_exponents(tmp_path):
    """On costs that are powers of n from 1,024 on, and constant below."""
    with (tmp_path / "table1.jsonl").open("w") as file:
        for layer, exponent in LAYERS.items():
            for n in (64, 1024, 2048, 8192):
                cost = 1e-9 * max(n, 1000) ** exponent
                figures = {"forward": cost, "training": 3 * cost, "memory": 1e12 * cost}
                line = {"layer": layer, "n": n, **figures, **SETTINGS, "backend": "tensorflow"}
                file.write(json.dumps(line) + "\n")
    result = table1(tmp_path, "--lengths=64,8192,1024,2048")
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("| **2.00** |") == 3 and result.stdout.count("| **1.00** |") == 12
    assert "n < 2·d = 32" in result.stdout
    assert "| self-attention | O(n²·d) | 1.0 | 1.0 | 4.2 | 67.1 | **2.00** |" in result.stdout
    rows = list(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    assert len(rows) == 15
    for row in rows:
        assert float(row["exponent"]) == pytest.approx(LAYERS[row["layer"]], abs=1e-3)
    assert matplotlib.image.imread(tmp_path / "table1.png").shape[1] > 1000
    other = command("reproduce", "table1", f"--output={tmp_path}", "--d_model=32")
    assert other.returncode == 2
    assert "was measured with d_model=16, and not 32" in other.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say which table: table1"),
        (["table7"], "must be one of 'table1', 'table2'"),
        (["table1", "--lengths=1024,many"], "`lengths` must be a whole number of at least 1"),
        (["table1", "--heads=3"], "num_heads"),
        (["table1", "--d_model=0"], "d_model"),
    ],
)
def test_reproduce_names_what_is_wrong(tmp_path, arguments, message):
    result = command("reproduce", *arguments, f"--output={tmp_path / 'out'}")
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
