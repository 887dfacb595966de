"""Drill: no command loses anything on a full disk, and each resumes when there is room again.

`T2T_DRILL` is the number of cases; 0: all.
"""

import itertools
import random
import shutil

import pytest
from support.processes.accidents import SIZE, arrays_of_weights, contents, results_of_run
from support.processes.commands import SMALL_CORPUS, TINY_RUN, command

from pipelines.exit_codes import NO_SPACE, REFUSED

pytestmark = pytest.mark.drill
FULL = (3_000, 10_000, 30_000, 100_000, 300_000)  # bytes of a file that still fit on the disk
REASONS = "File too large", "could not be written"


def train_flags(run, folder, data, steps):
    return [
        *(f"--run={run}", f"--data={data}", f"--config.training.steps={steps}", *TINY_RUN),
        *(f"--dev_source={folder}/en", f"--dev_target={folder}/de"),
        "--config.data.batches.tokens=4000",
    ]


@pytest.fixture
def trained(toy_data, tmp_path):
    """A run with checkpoints of steps 2, 4 and 6, averaged weights and an export."""
    (tmp_path / "en").write_text("The dog sleeps.\nTwo cats saw a big house.\n\n")
    (tmp_path / "de").write_text("Der Hund schläft.\nZwei Katzen sahen ein großes Haus.\n\n")
    assert is_done(command("train", *train_flags(tmp_path / "trained", tmp_path, toy_data[1], 6)))
    return tmp_path / "trained"


def is_done(result):
    return result.returncode == 0 and "Traceback" not in result.stderr


def is_refused(result):
    """Returns whether a command ended with an error code and one message that names the reason."""
    message = result.stderr.strip().splitlines()[-1]
    named = any(reason in message for reason in REASONS)
    return result.returncode in (REFUSED, NO_SPACE) and "Traceback" not in result.stderr and named


def test_a_full_disk(trained, toy_corpus, toy_data, tmp_path):
    run, data = tmp_path / "run", tmp_path / "data"
    outputs = {name: tmp_path / name for name in ("translations", "scores", "export")}
    files = [f"--source={toy_corpus}/train.en", f"--target={toy_corpus}/train.de"]
    long = tmp_path / "long"
    long.write_text("The dog sleeps.\n" * 20_000)

    def versions():
        newest = outputs["export"] / "1"
        return {str(path.relative_to(newest)) for path in newest.rglob("*")}

    pairs = [f"--source={long}", f"--target={long}", f"--output={outputs['scores']}"]
    flags = [f"--input={long}", f"--output={outputs['translations']}", "--lines=5000"]
    actions = {  # name: (arguments of the command, what it writes)
        "prepare": ([*files, f"--output={data}", *SMALL_CORPUS], lambda: contents(data)),
        "train": (train_flags(run, tmp_path, toy_data[1], 8), lambda: results_of_run(run)),
        "average": ([run, "--last=2"], lambda: arrays_of_weights(run / "averaged.npz")),
        "export": ([run, f"--output={outputs['export']}"], versions),
        "translate": ([run, *flags], outputs["translations"].read_bytes),
        "score": ([run, *pairs], outputs["scores"].read_bytes),
        "report": ([run], (run / "report.html").read_bytes),
    }

    def reset():
        for path in (run, data, outputs["export"]):
            shutil.rmtree(path, ignore_errors=True)
        for name in ("translations", "scores"):
            outputs[name].unlink(missing_ok=True)
        shutil.copytree(trained, run)

    expected = {}
    cases = list(itertools.product(actions, FULL))
    for name, size in random.Random(1).sample(cases, min(SIZE or len(cases), len(cases))):
        arguments, results = actions[name]
        if name not in expected:
            reset()
            assert is_done(command(name, *arguments))
            expected[name] = results()
        reset()
        result = command(name, *arguments, file_size=size)
        assert is_done(result) or is_refused(result), (name, size, result)
        for version in outputs["export"].glob("[0-9]*"):
            assert version.suffix == ".unfinished" or (version / "export.json").exists()
        again = command(name, *arguments)
        assert is_done(again), (name, size, again)
        assert results() == expected[name], f"{name}, {size}: the results are different afterwards"
