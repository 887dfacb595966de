"""Drill: lines that no one would write, through every part that reads text.

One line comes out for each, nothing is lost, and all ways give the same result. `T2T_DRILL` is the
number of lines; every 10,000 of them include one of a megabyte.
"""

import base64
import json
import math

import numpy as np
import pytest
from support.processes.accidents import SIZE
from support.processes.commands import command
from support.runs.untrained import toy_tokenizer, untrained_run
from support.serving.served_ugly import predictions
from support.serving.serving_client import served
from support.text.ugly_lines import ugly_lines

from pipelines.batches.id_store import IdStore
from pipelines.preparation.graph_encoding import BATCH
from pipelines.tokenizers import load_tokenizer
from t2t_keras.runs import Run
from t2t_keras.runs.text_files import read_lines

pytestmark = pytest.mark.drill
COUNT = max(SIZE, 200)
MEGABYTES = math.ceil(COUNT / 10_000) if COUNT >= 1000 else 0


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with the lines as sources and, with another seed, as targets."""
    folder = tmp_path_factory.mktemp("ugly")
    for seed, name in enumerate(("source", "target")):
        # A byte order mark is text only after the first line.
        lines = [b"The dog sleeps.", *ugly_lines(COUNT - 1, seed, MEGABYTES)]
        (folder / name).write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    run = untrained_run(folder / "toy", folder / "vocabulary", tokenizer)
    run.export(beam=1, extra_length=3)
    return run.folder


def lines_in(path):
    """Returns the lines of a file; each one ends with a line feed."""
    *lines, rest = path.read_bytes().split(b"\n")
    assert not rest
    return lines


def first_difference(one, other):
    """Returns the first index at which two lists differ, and both values; None if there is none."""
    for index, (ours, theirs) in enumerate(zip(one, other, strict=True)):
        if ours != theirs:
            return index, ours, theirs
    return None


OFF = ("empty", "invalid_utf8", "identical", "duplicates")


def prepared(files, run, folder, *flags):
    sides = [f"--{side}={files}/{side}" for side in ("source", "target")]
    result = command(
        "prepare", *sides, f"--vocabulary={run}/vocabulary", *flags, f"--output={folder}"
    )
    assert result.returncode == 0, result.stderr
    return IdStore.read(folder)


def test_preparing_loses_nothing(files, run, tmp_path):
    flags = [f"--config.data.cleaning.{rule}=False" for rule in OFF]
    flags += ["--config.data.cleaning.max_characters=0", "--config.data.cleaning.max_ratio=0"]
    store, tokenizer = prepared(files, run, tmp_path, *flags), load_tokenizer(run / "vocabulary")
    assert len(store) == COUNT
    for column, side in enumerate(("source", "target")):
        lines = lines_in(files / side)
        for start in range(0, COUNT, BATCH):
            block = range(start, min(start + BATCH, COUNT))
            encoded = tokenizer.encode([lines[index] for index in block])
            for index, ids in zip(block, encoded, strict=True):
                stored = store.gather(side, [index], store.lengths[index, column])[0]
                np.testing.assert_array_equal(stored, ids, err_msg=f"{side} {index}")
            texts = [tokenizer.normalization(lines[index]) for index in block]
            assert not first_difference(tokenizer.decode(encoded), texts)


def test_the_rules_count_every_line(files, run, tmp_path):
    store = prepared(files, run, tmp_path)
    counts = json.loads((tmp_path / "report.json").read_text())["counts"]
    dropped = [counts.get(rule, 0) for rule in (*OFF, "max_characters", "max_ratio")]
    assert counts["read"] == COUNT == counts["kept"] + sum(dropped)
    assert len(store) == counts["kept"]


def test_all_ways_of_translating_agree(files, run, tmp_path):
    def translated(*arguments):
        output = tmp_path / f"translated-{len(list(tmp_path.iterdir()))}"
        flags = ["--split=off", f"--input={files}/source", f"--output={output}"]
        result = command("translate", *arguments, *flags)
        assert result.returncode == 0, result.stderr
        return [line.decode() for line in lines_in(output)]

    search = "--beam=1", "--extra_length=3"
    expected, texts = translated(run, *search), read_lines(files / "source")
    assert len(expected) == len(texts) == COUNT
    assert not any("\r" in line for line in expected)
    assert not first_difference(translated(run, *search, "--lines=777"), expected)
    assert not first_difference(translated(run / "export"), expected)
    in_python = Run(run).translate(texts, beam=1, extra_length=3, split="off")
    assert not first_difference(in_python, expected)
    flags = [
        "--split=off",
        "--max_text_bytes=4000000",
        "--max_body_bytes=100000000",
        "--name=backwards",
    ]
    with served(run, *flags) as (_, address):
        answers = predictions(address, [{"text": b64(line)} for line in lines_in(files / "source")])
    assert not first_difference([answer["translations"] for answer in answers], expected)


def b64(line):
    return {"b64": base64.b64encode(line).decode()}


@pytest.fixture(scope="module")
def scored_files(files, tmp_path_factory):
    """The pairs without those of a megabyte, which cannot be scored: memory grows quadratically."""
    folder = tmp_path_factory.mktemp("scored")
    sides = zip(lines_in(files / "source"), lines_in(files / "target"), strict=True)
    kept = [pair for pair in sides if max(map(len, pair)) < 2000]
    for column, name in enumerate(("source", "target")):
        (folder / name).write_bytes(b"".join(pair[column] + b"\n" for pair in kept))
    return folder


def test_all_ways_of_scoring_agree(scored_files, run, tmp_path):
    files = scored_files
    pairs = [f"--source={files}/source", f"--target={files}/target"]
    result = command("score", run, *pairs, f"--output={tmp_path}/scores")
    assert result.returncode == 0, result.stderr
    lines = [line.decode() for line in lines_in(tmp_path / "scores")]
    log_p = [float(line.split("\t")[0]) for line in lines]
    assert len(log_p) == len(lines_in(files / "source")) and np.isfinite(log_p).all()
    texts = zip(read_lines(files / "source"), read_lines(files / "target"), strict=True)
    in_python = [score.log_p for score in Run(run).score(list(texts))]
    # The file has four decimals; the command scores blocks of lines, so its batches differ.
    np.testing.assert_allclose(in_python, log_p, rtol=1e-6, atol=1e-4)
    sides = zip(lines_in(files / "source"), lines_in(files / "target"), strict=True)
    # The server bounds a pair to score more strictly than a text to translate.
    short = [index for index, pair in enumerate(sides) if max(map(len, pair)) < 200]
    sides = list(zip(lines_in(files / "source"), lines_in(files / "target"), strict=True))
    rows = [{"source": b64(sides[i][0]), "target": b64(sides[i][1])} for i in short]
    with served(run, "--name=backwards") as (_, address):
        answers = predictions(address, rows, "score")
    np.testing.assert_allclose(answers, [log_p[i] for i in short], rtol=1e-4, atol=1e-3)
