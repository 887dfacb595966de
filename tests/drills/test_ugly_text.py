"""Drill: lines that no one would write, through every part that reads text.

One line comes out for each, nothing is lost, and all ways give the same result. `T2T_DRILL` is the
number of lines; every 10,000 of them include one of a megabyte.
"""

import base64
import math

import numpy as np
import pytest
from support.processes.accidents import SIZE
from support.processes.commands import command
from support.runs.untrained import toy_tokenizer, untrained_run
from support.serving.serving_client import predict, served
from support.text.ugly_lines import ugly_lines

from pipelines.batches.encoding import BLOCK
from pipelines.batches.id_store import IdStore
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
    run = untrained_run(folder / "toy", folder / "vocabulary", toy_tokenizer(folder / "vocabulary"))
    run.export(beam=1, extra_length=3)
    return run.folder


def lines_in(path):
    """Returns the lines of a file; each one ends with a line feed."""
    *lines, rest = path.read_bytes().split(b"\n")
    assert not rest
    return lines


def test_preparing_loses_nothing(files, run, tmp_path):
    rules = [f"{rule}=False" for rule in ("empty", "invalid_utf8", "identical", "duplicates")]
    rules += ["max_characters=0", "max_ratio=0"]
    flags = [f"--config.data.cleaning.{rule}" for rule in rules]
    flags += [f"--{side}={files}/{side}" for side in ("source", "target")]
    flags += [f"--vocabulary={run}/vocabulary", f"--output={tmp_path}"]
    result = command("prepare", *flags)
    assert result.returncode == 0, result.stderr
    store, tokenizer = IdStore.read(tmp_path), load_tokenizer(run / "vocabulary")
    assert len(store) == COUNT
    for column, side in enumerate(("source", "target")):
        lines = lines_in(files / side)
        for start in range(0, COUNT, BLOCK):
            block = range(start, min(start + BLOCK, COUNT))
            encoded = tokenizer.encode([lines[index] for index in block])
            for index, ids in zip(block, encoded, strict=True):
                stored = store.gather(side, [index], store.lengths[0, index, column])[0]
                np.testing.assert_array_equal(stored, ids, err_msg=f"{side} {index}")
            texts = [tokenizer.normalization(lines[index]) for index in block]
            assert not differences(tokenizer.decode(encoded), texts)


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
    assert not differences(translated(run, *search, "--lines=777"), expected)
    assert not differences(translated(run / "export"), expected)
    assert not differences(Run(run).translate(texts, beam=1, extra_length=3, split="off"), expected)
    limits = "--max_text_bytes=4000000", "--max_body_bytes=100000000"
    with served(run, "--split=off", *limits, "--name=backwards") as (_, address):
        answers = []
        for start in range(0, COUNT, 20):
            rows = [{"text": b64(line)} for line in lines_in(files / "source")[start : start + 20]]
            status, answer = predict(address, {"instances": rows}, seconds=600)
            assert status == 200, answer
            answers += [row["translations"] for row in answer["predictions"]]
    assert not differences(answers, expected)


def b64(line):
    return {"b64": base64.b64encode(line).decode()}


def differences(one, other):
    """Returns the indices at which two lists differ."""
    return [index for index, pair in enumerate(zip(one, other, strict=True)) if len(set(pair)) > 1]


def test_all_ways_of_scoring_agree(files, run, tmp_path):
    """Pairs of a megabyte cannot be scored: memory grows quadratically."""
    sides = zip(lines_in(files / "source"), lines_in(files / "target"), strict=True)
    kept = [pair for pair in sides if max(map(len, pair)) < 2000]
    source, target = tmp_path / "source", tmp_path / "target"
    for path, lines in zip((source, target), zip(*kept, strict=True), strict=True):
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    flags = f"--source={source}", f"--target={target}", f"--output={tmp_path}/scores"
    result = command("score", run, *flags)
    assert result.returncode == 0, result.stderr
    log_p = [float(line.split(b"\t")[0]) for line in lines_in(tmp_path / "scores")]
    assert len(log_p) == len(kept) and np.isfinite(log_p).all()
    texts = list(zip(read_lines(source), read_lines(target), strict=True))
    in_python = [score.log_p for score in Run(run).score(texts)]
    # The file has four decimals; the command scores blocks of lines, so its batches differ.
    np.testing.assert_allclose(in_python, log_p, rtol=1e-6, atol=1e-4)
