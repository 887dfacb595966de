"""t2t-benchmark on sizes that take no time; what it times of prepared data is in test_cli.py."""

import re

import pytest
from commands import command


def test_benchmark_times_full_and_restricted_attention():
    sizes = ["--lengths=16,8", "--neighbourhood=3", "--heads=2", "--d_model=8", "--rounds=1"]
    result = command("benchmark", "attention", *sizes)
    assert result.returncode == 0, result.stderr
    title, lengths, full, restricted = result.stdout.splitlines()
    assert "d_model = 8, h = 2" in title
    assert lengths.split() == ["n", "=", "8", "n", "=", "16"]
    assert full.startswith("full ") and restricted.startswith("r = 3 ")
    for line in (full, restricted):
        assert line.count(" ms") == 2


def test_benchmark_times_a_training_step():
    sizes = ["--config.model.num_layers=1", "--config.model.d_model=16", "--config.model.d_ff=16"]
    shape = ["--rows=4", "--length=6", "--rounds=1", "--config.model.vocab_size=50"]
    result = command("benchmark", "train", *sizes, *shape)
    assert result.returncode == 0, result.stderr
    title, speed, work, share = result.stdout.splitlines()
    assert title.startswith("4 pairs of 6 + 6 tokens, float32, tensorflow")
    assert "tokens a second" in speed and "GFLOP/s in matrix products" in work
    assert "% of a 2048³ product's" in share


def test_benchmark_times_searches():
    sizes = ["--config.model.num_layers=1", "--config.model.d_model=16", "--config.model.d_ff=16"]
    shape = ["--rows=3", "--length=6", "--source_length=4", "--rounds=1"]
    result = command("benchmark", "decode", *sizes, *shape, "--config.model.vocab_size=50")
    assert result.returncode == 0, result.stderr
    title, *lines = result.stdout.splitlines()
    assert title.startswith("4 source tokens, 6 steps, float32, tensorflow")
    cases = ["greedy +batch 1", "beam 4 +batch 1", "greedy +batch 3", "beam 4 +batch 3"]
    for line, case in zip(lines, cases, strict=True):
        assert re.match(rf"{case} +[\d.]+ sentences/s", line), line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what to measure"),
        (["atention"], "did you mean 'attention'"),
        (["attention", "--lengths=8,x"], "`lengths` must be a whole number"),
        (["decode", "--length=5"], "--length=5 steps: an output may be as long as its source"),
        (["data"], "--data=FOLDER is needed"),
        (["data", "--data=nowhere"], "nowhere holds no finished data"),
        (["attention", "--rounds=0"], "--rounds=0: 0 is not a positive integer"),
    ],
)
def test_benchmark_names_what_is_wrong(arguments, message):
    result = command("benchmark", *arguments)
    assert result.returncode == 2
    assert message in result.stderr.strip().splitlines()[-1]
