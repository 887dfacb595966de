"""The paper's tables, each by one command."""

import csv
import json
import signal
import time

import matplotlib.image
import pytest
from commands import command, running

from pipelines.whole import only_one
from t2t_keras.reproduction.tables import machine

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
    path = folder / "table1.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def write_lines(folder, costs, **changed):
    """As if they had been measured on this machine: for each layer, n and its cost."""
    settings = SETTINGS | {"backend": "tensorflow", "machine": machine()} | changed
    with (folder / "table1.jsonl").open("w") as file:
        for layer, n, cost in costs:
            figures = {"forward": cost, "training": 3 * cost, "memory": 1e12 * cost}
            file.write(json.dumps({"layer": layer, "n": n, **figures, **settings}) + "\n")


def test_table1_goes_on_where_it_was_interrupted(tmp_path):
    flags = [f"--output={tmp_path}", *FLAGS, "--lengths=16,24,32"]
    with running("reproduce", "table1", *flags) as process:
        end = time.monotonic() + 60
        while not lines_of(tmp_path) and time.monotonic() < end:
            time.sleep(0.02)
        assert process.stop(signal.SIGINT) == 130, process.errors()
        assert "goes on from here" in process.errors()
    first = lines_of(tmp_path)
    assert 3 <= len(first) < 15
    with (tmp_path / "table1.jsonl").open("a") as file:
        file.write('{"layer": "recurr')  # as if it had been killed while it wrote
    result = table1(tmp_path, "--lengths=16")
    assert result.returncode == 0, result.stderr
    lines = lines_of(tmp_path)
    assert lines[: len(first)] == first
    measured = lines[: len(first)] + lines[len(first) + 1 :]
    measured = {(line["layer"], line["n"]): line for line in map(json.loads, measured)}
    assert len(measured) == len(lines) - 1
    for layer in LAYERS:
        line = measured[layer, 16]
        assert line["forward"] > 0 and line["training"] > 0
        assert 16 * 16 * 4 <= line["memory"] < 1e6  # the output, and not the whole process
    again = table1(tmp_path, "--lengths=16")
    assert lines_of(tmp_path) == lines
    written = (tmp_path / "table1.md").read_text()
    assert again.stdout == f"{written}\n{tmp_path}/table1.md, table1.csv, table1.png\n"


def test_table1_fits_the_exponents(tmp_path):
    """On costs that are powers of n from 1,024 on, and constant below."""
    write_lines(
        tmp_path,
        [
            (layer, n, 1e-9 * max(n, 1000) ** exponent)
            for layer, exponent in LAYERS.items()
            for n in (64, 1024, 2048, 8192)
        ],
    )
    result = table1(tmp_path, "--lengths=64,8192,1024,2048")
    assert result.returncode == 0, result.stderr
    assert "n < 2·d = 32" in result.stdout
    assert f", {machine()}\n" in result.stdout and "table1 --output=" in result.stdout
    rows = list(csv.DictReader((tmp_path / "table1.csv").read_text().splitlines()))
    assert len(rows) == 15
    for row in rows:
        assert float(row["exponent of n"]) == LAYERS[row["layer"]]
    first = ["forward, ms", "self-attention", "O(n²·d)", "1.0", "1.0", "4.2", "67.1", "2.00"]
    assert list(rows[0].values()) == first
    assert matplotlib.image.imread(tmp_path / "table1.png").shape[1] > 1000


@pytest.mark.parametrize("name", ["d_model", "machine"])
def test_table1_refuses_what_was_measured_otherwise(tmp_path, name):
    write_lines(tmp_path, [("recurrent", 64, 1.0)], **{name: 32})
    result = table1(tmp_path)
    assert result.returncode == 2
    assert f"was measured with {name}=32, and not " in result.stderr.splitlines()[-1]


def test_table1_has_its_folder_for_itself(tmp_path):
    with only_one(tmp_path):
        result = table1(tmp_path)
    assert result.returncode == 2
    assert f"{tmp_path} is in use by process" in result.stderr.splitlines()[-1]


def test_table1_says_in_one_message_why_a_layer_cannot_be_measured(tmp_path):
    kernel = {"kernel": 10**20}
    write_lines(
        tmp_path, [(layer, 8, 1.0) for layer in LAYERS if layer != "convolutional"], **kernel
    )
    result = table1(tmp_path, "--lengths=8", f"--kernel={10**20}")
    assert result.returncode == 2
    last = result.stderr.splitlines()[-1]
    assert "convolutional could not be measured at n = 8 (ValueError: " in last
    assert "leave out the longest" in last and "Traceback" not in result.stderr


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
