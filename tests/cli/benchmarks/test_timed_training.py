"""Stops a training that reaches a BLEU, and measures until then; with scripts as commands."""

import signal
import subprocess
import sys
import time

import pytest

from t2t_keras.cli.benchmarks.timed_training import time_to_bleu, work_folder
from t2t_keras.stages import stages
from t2t_keras.training.logs.metrics_file import MetricsFile

# Copies a file to the run, and then waits, fails or ends.
TRAIN = """
import pathlib, signal, sys
lines, run, then = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
run.mkdir()
(run / "metrics.jsonl").write_text(lines.read_text())
if then == "wait":
    signal.pause()
sys.exit("the last word" if then == "fail" else 0)
"""


@pytest.fixture
def scripted(tmp_path, monkeypatch):
    """Returns a function that makes stages write evaluations with given BLEU values."""
    children = []

    def script(*scores, then="wait"):
        lines = MetricsFile(tmp_path / "lines")
        for step, bleu in enumerate(scores, start=1):
            lines.append({"step": step, "bleu": bleu, "bleu_signature": "tok:13a"})

        def start(command, arguments, log):
            code = "" if command == "prepare" else TRAIN
            program = [sys.executable, "-ISc", code, lines.path, tmp_path / "run", then]
            children.append(subprocess.Popen(program, stderr=log))
            return children[-1]

        monkeypatch.setattr(stages, "start_command", start)
        return children

    return script


def test_the_clock_stops_at_the_first_evaluation_that_reaches_the_target(
    scripted, tmp_path, capsys
):
    children, started = scripted(3.0, 36.5, 20.0), time.monotonic()
    result = time_to_bleu(tmp_path, [], [], target=35)
    assert (result.step, result.bleu, result.signature) == (2, 36.5, "tok:13a")
    assert 0 < result.preparing < result.seconds < time.monotonic() - started
    assert children[1].returncode == -signal.SIGTERM, "the training was stopped"
    assert capsys.readouterr().err.count("headline: BLEU 3.00 at step 1, after") == 1


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("end", r"BLEU 35 was not reached: .* at most 34\.99\. Train for"),
        ("fail", r"t2t-train failed \(exit code 1\): the last word\. The"),
    ],
)
def test_a_training_that_ends_below_the_target_is_an_error(scripted, tmp_path, then, message):
    scripted(3.0, 34.99, 2.0, then=then)
    with pytest.raises(ValueError, match=message):
        time_to_bleu(tmp_path, [], [], target=35)


def closed_pipe():
    raise BrokenPipeError


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt),
        (closed_pipe, BrokenPipeError),
    ],
)
def test_an_error_of_the_command_ends_its_training(scripted, tmp_path, monkeypatch, fail, error):
    children = scripted(1.0)

    def report(message):
        if "BLEU" in message:
            fail()

    monkeypatch.setitem(time_to_bleu.__globals__, "report", report)
    with pytest.raises(error):
        time_to_bleu(tmp_path, [], [], target=35)
    assert children[1].returncode is not None, "no training remains that nobody waits for"


def test_a_temporary_folder_is_kept_only_after_an_error():
    with work_folder(None) as folder:
        (folder / "train.log").touch()
    assert not folder.exists()
    with pytest.raises(SystemExit), work_folder(None) as folder:
        sys.exit(130)
    assert not folder.exists()
    with pytest.raises(OSError, match="full"), work_folder(None) as folder:
        raise OSError("The disk is full")
    assert folder.is_dir()
    folder.rmdir()
