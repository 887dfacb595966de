"""t2t-benchmark at tiny sizes."""

import re

import pytest
from commands import command
from serving_client import served

SMALL_MODEL = [
    "--config.model.num_layers=1",
    "--config.model.d_model=16",
    "--config.model.d_ff=16",
    "--config.model.vocab_size=50",
]


def benchmark(*arguments):
    """Runs t2t-benchmark and returns the lines of its output."""
    result = command("benchmark", *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def test_full_and_restricted_attention_are_timed_at_every_length():
    sizes = ["--lengths=16,8", "--neighbourhood=3", "--heads=2", "--d_model=8", "--rounds=1"]
    title, lengths, full, restricted = benchmark("attention", *sizes)
    assert "d_model = 8, h = 2" in title
    assert lengths.split() == ["n", "=", "8", "n", "=", "16"]
    assert full.startswith("full ") and restricted.startswith("r = 3 ")
    for line in (full, restricted):
        assert line.count(" ms") == 2


def test_a_training_step_is_timed():
    title, speed, work, share = benchmark(
        *("train", *SMALL_MODEL, "--rows=4", "--length=6", "--rounds=1")
    )
    assert title.startswith("4 pairs of 6 + 6 tokens, float32, tensorflow")
    assert "tokens per second" in speed and "GFLOP/s in matrix products" in work
    assert "% of a 2048³ product's" in share


def test_greedy_and_beam_search_are_timed_alone_and_in_batches():
    title, *lines = benchmark(
        *("decode", *SMALL_MODEL, "--rows=3", "--length=6", "--source_length=4", "--rounds=1")
    )
    assert title.startswith("4 source tokens, 6 steps, float32, tensorflow")
    cases = ["greedy +batch 1", "beam 4 +batch 1", "greedy +batch 3", "beam 4 +batch 3"]
    for line, case in zip(lines, cases, strict=True):
        assert re.match(rf"{case} +[\d.]+ sentences/s", line), line


def test_batches_of_prepared_data_are_timed(toy_data):
    title, speed, first, late = benchmark(
        "data", f"--data={toy_data[1]}", "--rounds=1", "--steps=3"
    )
    assert "pairs, medians of 1 rounds" in title
    assert "real tokens per second" in speed and "step 0" in first and "step 100,000" in late


def test_answers_of_a_server_are_timed_and_compared_with_lone_answers(backwards_export):
    with served(backwards_export.parent) as (_, address):
        url = f"--url={address}/v1/models/backwards"
        title, speed, alone, together, compared = benchmark(
            "serve", url, "--requests=20", "--connections=4"
        )
    assert title == "20 requests with one text each, 4 connections"
    assert "requests per second" in speed
    assert alone.startswith("alone") and together.startswith("together")
    assert compared.strip() == "20 answered; 0 differ from the single-request answer"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes one subject: attention"),
        (["atention"], "did you mean 'attention'"),
        (["attention", "--lengths=8,x"], "`lengths` must be"),
        (["decode", "--length=5"], "--length must be at least --source_length"),
        (["data"], "--data must be a folder"),
        (["data", "--data=nowhere"], "nowhere"),
        (["serve"], "--url must be the address"),
        (["serve", "--url=http://127.0.0.1:9/v1/models/m"], "--url does not answer"),
        (["attention", "--rows=9"], "--rows has no effect on attention: leave it out"),
        (["attention", "--config=big"], "--config has no effect on attention"),
        (["attention", *SMALL_MODEL], "--config.model.num_layers has no effect on attention"),
        (["data", "--length=9"], "--length has no effect on data"),
        (["decode", "--steps=9"], "--steps has no effect on decode"),
        (["serve", "--rounds=9"], "--rounds has no effect on serve"),
        (["train", "--source_length=9"], "--source_length has no effect on train"),
        (["attention", "--rounds=0"], "--rounds=0: 0 is not a positive integer"),
    ],
)
def test_a_mistake_is_named(arguments, message):
    result = command("benchmark", *arguments)
    assert result.returncode == 2
    assert message in result.stderr.strip().splitlines()[-1]
