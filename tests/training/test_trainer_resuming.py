"""Runs that are stopped, killed or short of disk space, and then resumed."""

import json
import os
import random
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from support.processes.commands import HELPERS, running
from support.processes.small_training_process import STEPS
from support.runs.small_training import HeldOut, assert_same_bits, final_state, new_trainer

from t2t_keras.training import checkpoints
from t2t_keras.training.checkpoints import Checkpoints, average, state_of
from t2t_keras.training.logs.metrics_file import MetricsFile


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """A run of 20 steps: its folder with all checkpoints, its final state and its tokens."""
    folder = tmp_path_factory.mktemp("runs") / "uninterrupted"
    trainer = new_trainer(folder, held_out=[HeldOut()], keep=20)
    assert trainer.train() is None
    return SimpleNamespace(folder=folder, state=state_of(trainer.model), tokens=trainer.tokens)


def interrupted_copy(run, folder, step):
    """Copies a run as if it had been killed after its checkpoint of a step."""
    shutil.copytree(run.folder, folder)
    checkpoints = Checkpoints(folder / "checkpoints")
    for later in checkpoints.steps():
        if later > step:
            checkpoints.path(later).unlink()
    return checkpoints


def intervals(folder):
    """Returns the lines of training.jsonl, except for what depends on the speed."""
    lines = MetricsFile(folder / "training.jsonl").read()
    assert all(line.pop("tokens_per_second") > 0 and line.pop("seconds") > 0 for line in lines)
    return lines


@pytest.mark.long
@pytest.mark.parametrize("step", [4, 16])
def test_a_resumed_run_ends_with_the_same_bits(uninterrupted, tmp_path, step):
    folder = tmp_path / "resumed"
    interrupted_copy(uninterrupted, folder, step)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 30, "lo')
    resumed = new_trainer(folder, held_out=[HeldOut()])
    assert resumed.train() is None
    assert_same_bits(state_of(resumed.model), uninterrupted.state)
    assert resumed.tokens == uninterrupted.tokens
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [10, 20]
    assert intervals(folder) == intervals(uninterrupted.folder)


@pytest.mark.long
def test_a_damaged_newest_checkpoint_is_skipped(tmp_path, caplog, uninterrupted):
    checkpoints = interrupted_copy(uninterrupted, tmp_path / "damaged", 8)
    contents = bytearray(checkpoints.path(8).read_bytes())
    contents[len(contents) // 2] ^= 1
    checkpoints.path(8).write_bytes(contents)
    resumed = new_trainer(tmp_path / "damaged")
    assert resumed.train() is None
    assert "step-00000008.npz is damaged" in caplog.text and "Falling back" in caplog.text
    assert_same_bits(state_of(resumed.model), uninterrupted.state)
    resumed.checkpoints.load(8)  # was written again


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.long
def test_a_run_killed_at_any_moment_of_evaluating_and_saving_loses_nothing(tmp_path, monkeypatch):
    """Each process ends at a new moment; the next one resumes the run."""
    settings = {"held_out": [HeldOut()], "steps": 4, "evaluate_every": 2, "checkpoint_every": 3}
    settings |= {"patience": 9, "keep": 1, "log_every": 3}
    whole = new_trainer(tmp_path / "whole", **settings)
    whole.train()
    expected = state_of(whole.model)
    survived = set()

    def moment(*key):
        if key not in survived:
            survived.add(key)
            raise Killed

    def watched(name, original):
        def call(*arguments, **named):
            moment(trainer.step, "before", name)
            result = original(*arguments, **named)
            moment(trainer.step, "after", name)
            return result

        return call

    for owner, name in [
        (HeldOut, "distributed"),
        (HeldOut, "translate"),
        (MetricsFile, "append"),
        (MetricsFile, "sync"),
        (Checkpoints, "save"),
        (Path, "rename"),
        (Path, "unlink"),
    ]:
        monkeypatch.setattr(owner, name, watched(name, getattr(owner, name)))
    deaths, finished = 0, False
    while not finished:
        trainer = new_trainer(tmp_path / "killed", **settings)
        try:
            trainer.train()
            finished = True
        except Killed:
            deaths += 1
            steps = trainer.checkpoints.steps()
            assert (trainer.checkpoints.best() in steps) == bool(steps)
    assert deaths == len(survived) > 20
    assert_same_bits(state_of(trainer.model), expected)
    assert trainer.early_stopping.state() == whole.early_stopping.state()
    assert trainer.checkpoints.best() == whole.checkpoints.best() is not None
    names, expected_names = (
        sorted(path.name for path in each.checkpoints.folder.iterdir()) for each in (trainer, whole)
    )
    assert names == expected_names
    assert [line["step"] for line in intervals(tmp_path / "killed")] == [3, 4]
    assert intervals(tmp_path / "killed") == intervals(tmp_path / "whole")
    ours, theirs = trainer.records.metrics_file.read(), whole.records.metrics_file.read()
    for name in ("step", "tokens", "loss", "bleu", "learning_rate", "train_loss"):
        assert [each[name] for each in ours] == [each[name] for each in theirs], name


@pytest.mark.long
def test_a_run_killed_three_times_ends_with_the_bits_of_an_uninterrupted_run(tmp_path):
    folder, result = tmp_path / "killed", tmp_path / "killed.npz"
    checkpoints = Checkpoints(folder / "checkpoints")
    choices, kills = random.Random(time.time()), []

    def process():
        return running("small_training_process", folder, result, package=HELPERS)

    for _ in range(3):
        with process() as killed:
            first = max(checkpoints.steps(), default=0)
            target, deadline = first + choices.randint(1, 15), time.monotonic() + 120
            while max(checkpoints.steps(), default=0) < target and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(choices.random() * 0.05)
            assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
        assert not result.exists()
        kills.append(max(checkpoints.steps()))
    assert kills == sorted(set(kills)) and kills[-1] < STEPS, "each process made progress"
    with process() as last:
        assert last.wait() == 0, last.errors()
    with np.load(result) as file:
        assert_same_bits(dict(file), final_state(tmp_path / "whole", steps=STEPS))
    assert len(intervals(folder)) == STEPS // 5
    assert intervals(folder) == intervals(tmp_path / "whole")


class SendSignal(keras.callbacks.Callback):
    """Asks the process to end during the seventh step."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 6:
            os.kill(os.getpid(), signal.SIGTERM)


def test_the_average_of_an_interrupted_run_is_that_of_an_uninterrupted_one(tmp_path):
    averages, lines = [], []
    for name, stopped in (("whole", []), ("interrupted", [SendSignal()])):
        settings = {"steps": 10, "evaluate_every": 100}
        if stopped:
            trainer = new_trainer(tmp_path / name, callbacks=stopped, **settings)
            assert trainer.train() and trainer.checkpoints.latest() == [4, 7]
        trainer = new_trainer(tmp_path / name, **settings)
        assert trainer.train() is None and trainer.checkpoints.steps() == [4, 8, 10]
        lines.append(intervals(tmp_path / name))
        weights, steps = average(trainer.checkpoints, 3)
        assert steps == [4, 8, 10]
        averages.append(weights)
    assert_same_bits(*averages)
    assert [line["step"] for line in lines[0]] == [5, 10] and lines[0] == lines[1]


@pytest.mark.long
def test_a_run_of_an_earlier_version_gets_lines_from_its_resumption_on(tmp_path):
    new_trainer(tmp_path, steps=4).train()
    (tmp_path / "training.jsonl").unlink()
    path = tmp_path / "checkpoints" / "step-00000004.npz"
    with np.load(path) as file:
        arrays = dict(file)
    notes = json.loads(arrays["notes"].tobytes())
    del notes["interval"]
    arrays["notes"] = np.frombuffer(json.dumps(notes).encode(), "uint8")
    np.savez(path, **arrays)
    resumed = new_trainer(tmp_path, steps=10)
    assert resumed.train() is None
    assert [line["step"] for line in intervals(tmp_path)] == [5, 10]


def test_a_run_that_is_extended_is_averaged_like_one_that_was_never_shorter(tmp_path):
    for steps in (6, 12):
        trainer = new_trainer(tmp_path, steps=steps, evaluate_every=100)
        trainer.train()
        assert trainer.checkpoints.latest() == ([4, 6] if steps == 6 else [4, 8, 12])


@pytest.mark.long
def test_the_best_checkpoint_after_the_last_step_is_off_schedule(tmp_path):
    """It was evaluated only because the run was to end there."""
    for steps in (6, 12):
        settings = {"evaluate_every": 4, "checkpoint_every": 4, "learning_rate": 0.1}
        trainer = new_trainer(tmp_path, held_out=[HeldOut()], steps=steps, **settings)
        trainer.train()
        if steps == 6:
            assert trainer.checkpoints.best() == 6, "otherwise this tests nothing"
    assert trainer.checkpoints.latest() == [4, 8, 12]


def test_a_signal_finishes_the_step_and_saves(tmp_path, capsys):
    trainer = new_trainer(tmp_path, callbacks=[SendSignal()], checkpoint_every=100)
    assert trainer.train() == "SIGTERM was received"
    assert trainer.checkpoints.steps() == [7]
    assert "Stopping after this step" in capsys.readouterr().err


def test_a_full_disk_ends_the_run_and_keeps_the_previous_checkpoint(tmp_path, monkeypatch):
    trainer = new_trainer(tmp_path)
    original, saved = checkpoints.write_arrays, []

    def write_arrays(file, *mappings):
        if len(saved) == 2:
            file.write(b"half")
            raise OSError(28, "No space left on device")
        saved.append(file)
        original(file, *mappings)

    monkeypatch.setattr(checkpoints, "write_arrays", write_arrays)
    message = r"step 12 could not be written .* is from step 8: make room"
    with pytest.raises(OSError, match=message):
        trainer.train()
    assert trainer.checkpoints.steps() == [4, 8]
    assert not list((tmp_path / "checkpoints").glob("*.unfinished"))


def test_only_the_newest_checkpoint_by_time_is_averaged_if_others_are_made_by_steps(tmp_path):
    settings = {"steps": 5, "evaluate_every": 100, "checkpoint_minutes": 1e-9}
    for every, averaged in ((2, [2, 4, 5]), (0, [1, 2, 3, 4, 5])):
        trainer = new_trainer(tmp_path / f"{every}", checkpoint_every=every, **settings)
        trainer.train()
        assert trainer.checkpoints.latest() == averaged


def test_a_checkpoint_by_time_of_an_evaluated_step_is_averaged_only_if_it_is_the_best(tmp_path):
    settings = {"steps": 6, "evaluate_every": 2, "checkpoint_every": 3}
    for minutes in (0, 1e-9):
        folder = tmp_path / f"{minutes}"
        trainer = new_trainer(folder, **settings, checkpoint_minutes=minutes)
        trainer.train()
        assert trainer.checkpoints.latest() == [3, 6], "without held-out text, no step is the best"
