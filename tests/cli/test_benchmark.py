"""t2t-benchmark at tiny sizes."""

import re

import pytest
from support.processes.in_process import ended, refused
from support.serving.serving_client import served

SMALL_MODEL = [
    "--config.model.num_layers=1",
    "--config.model.d_model=16",
    "--config.model.d_ff=16",
    "--config.model.vocab_size=50",
]


def benchmark(*arguments):
    """Runs t2t-benchmark and returns the lines of its output."""
    result = ended("benchmark", *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.mark.long
def test_a_training_step_is_timed():
    title, batch, step, *rows = benchmark(
        *("train", *SMALL_MODEL, "--rows=4", "--length=6", "--rounds=1")
    )
    assert title == "float32, tensorflow, median of 1 steps"
    assert batch.endswith("4 pairs of 6 + 6 tokens") and step.endswith(" ms")
    assert "source and target tokens" in rows[0] and "share of a 2048³ product" in rows[-1]


@pytest.mark.long
def test_engines_are_timed_on_a_text_and_find_the_same_translations(tmp_path, exported_toy_run):
    text, (_, run) = tmp_path / "text", exported_toy_run
    text.write_text("The dog sleeps.\n\nThe dogs sleep.\nThe third line.\n")
    engines = ["tensorflow", "litert", "ctranslate2"]
    title, _, *lines = benchmark(
        *("decode", f"--run={run}", f"--input={text}", "--lines=2", "--rounds=1"),
        f"--engines={','.join(engines)}",
    )
    assert title.startswith(f"{run}: 2 lines, medians of 1 rounds")
    assert len(lines) == 2 * len(engines) and lines[0].startswith("greedy, tensorflow ")
    for line in lines:
        assert re.fullmatch(r"\w+( \d)?, \w+( +\d+\.\d+){3} +0", line), line


@pytest.mark.long
def test_batches_of_prepared_data_are_timed(toy_data):
    _, speed, first, late = benchmark("data", f"--data={toy_data[1]}", "--rounds=1", "--steps=3")
    assert "real tokens per second" in speed and "step 0" in first and "step 100,000" in late


@pytest.mark.long
def test_answers_of_a_server_are_timed_and_compared_with_lone_answers(exported):
    with served(exported("litert").parent, "--name=m") as (_, address):
        url = f"--url={address}/v1/models/m"
        sizes = ["--requests=20", "--connections=4"]
        title, speed, alone, together, compared = benchmark("serve", url, *sizes)
    assert title == "20 requests with one text each, 4 connections"
    assert "requests per second" in speed
    assert alone.startswith("alone") and together.startswith("together")
    assert compared.strip() == "20 answered; 0 differ from the single-request answer"


MISTAKES = {
    "": "takes one subject: train",
    "trian": "did you mean 'train'",
    "decode --run=mine": "decode needs --run and --input",
    "decode --run=mine --input=x": "mine is not a run",
    "decode --run=mine --input=x --length=9": "--length has no effect on decode",
    "decode --run=mine --input=x --config.model.d_ff=9": "d_ff has no effect on decode",
    "decode --engines=litert:int9": "did you mean 'int8'",
    "train --engines=litert": "--engines has no effect on train",
    "data": "--data must be a folder",
    "serve": "--url must be the address",
    "serve --url=http://127.0.0.1:9/v1/models/m": "--url does not answer",
    "serve --config.model.d_ff=9": "--config.model.d_ff has no effect on serve",
    "gpu --parts=digit": "did you mean 'digits'",
    "gpu --rows=9": "--rows has no effect on gpu",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(line, message):
    assert message in refused("benchmark", line)
