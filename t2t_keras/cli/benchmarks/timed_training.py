"""Runs t2t-prepare and t2t-train until BLEU on held-out text reaches a target, with a clock.

The clock runs from the start of the first process until the evaluation that reaches the target is
written. So it includes the starts of Python and TensorFlow, all evaluations and all checkpoints.
"""

import contextlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from pipelines.progress import duration
from t2t_keras.stages import stages
from t2t_keras.training.logs.metrics_file import MetricsFile

POLL_SECONDS = 0.25  # interval between looks at the evaluations


class TimedTraining(NamedTuple):
    """The evaluation that reached the target.

    Args:
        preparing: seconds from the start until the text was prepared.
        seconds: seconds from the start until the evaluation was written.
        step, bleu, signature: of the evaluation.
    """

    preparing: float
    seconds: float
    step: int
    bleu: float
    signature: str


@contextlib.contextmanager
def work_folder(output):
    """Yields a new folder at `output`. If it is None: a temporary one, kept only after an error."""
    if output:
        yield new_folder(output)
        return
    folder, named = Path(tempfile.mkdtemp(prefix="headline-")), False
    try:
        yield folder
    except Exception:  # Its message may name a log in the folder.
        named = True
        raise
    finally:
        if not named:
            shutil.rmtree(folder, ignore_errors=True)


def new_folder(path):
    """Creates the folder. It must be empty: a timing cannot continue an earlier one."""
    folder = Path(path)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"--output must be a new folder. Received: {path}")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def time_to_bleu(folder, prepare, train, target):
    """Prepares text and trains until an evaluation reaches a BLEU; returns a `TimedTraining`.

    Args:
        folder: a new folder, for the prepared data, the run and the logs.
        prepare, train: arguments of the commands, without their folders.
        target: the BLEU.
    """
    data, run = folder / "data", folder / "run"
    started = time.monotonic()
    run_command("prepare", [*prepare, f"--output={data}"], folder / "prepare.log")
    preparing = time.monotonic() - started
    report(f"prepared after {duration(preparing)}")
    metrics, shown = MetricsFile(run / "metrics.jsonl"), []

    def reached():
        """Reports new evaluations. Returns whether one of them has reached the target."""
        for evaluation in metrics.read()[len(shown) :]:
            seconds = time.monotonic() - started
            shown.append((evaluation, seconds))
            report(
                f"BLEU {evaluation['bleu']:.2f} at step {evaluation['step']:,}, after "
                f"{duration(seconds)}"
            )
        return any(evaluation["bleu"] >= target for evaluation, _ in shown)

    arguments = [*train, f"--data={data}", f"--run={run}", "--noexport"]
    run_command("train", arguments, folder / "train.log", reached)
    for evaluation, seconds in shown:
        if evaluation["bleu"] >= target:
            return TimedTraining(
                *(preparing, seconds, evaluation["step"], evaluation["bleu"]),
                signature=evaluation["bleu_signature"],
            )
    best = max((evaluation["bleu"] for evaluation, _ in shown), default=0)
    raise ValueError(
        f"BLEU {target:g} was not reached: the training ended with at most {best:.2f}. Train for "
        f"more steps, --config.training.steps=…, or lower --bleu. The log is {folder / 'train.log'}"
    )


def run_command(command, arguments, log, reached=lambda: False):
    """Runs `t2t-COMMAND` until it ends or `reached()` is true. Signals are passed on to it."""
    children, stopped = [], False
    with stages.signals_passed_to(children) as received:
        with open(log, "ab") as file:
            children.append(stages.start_command(command, arguments, file))
        if received:  # a signal that arrived before the child was started
            stages.send(received[0], children[0])
        while (code := exit_code(children[0])) is None:
            if not stopped and reached():
                stopped = True
                stages.send(signal.SIGTERM, children[0])  # t2t-train saves the step and ends
        reached()  # the last evaluation may come just before the end
    if received:
        raise KeyboardInterrupt
    if code and not stopped:
        raise ValueError(
            f"t2t-{command} failed (exit code {code}): {stages.last_message(log)}. The full log is "
            f"{log}"
        )


def exit_code(child):
    """Waits a moment for a child to end; returns its exit code, or None if it still runs."""
    try:
        return child.wait(POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def report(message):
    print(f"headline: {message}", file=sys.stderr, flush=True)
