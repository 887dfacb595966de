"""Runs that are stopped, killed or short of disk space, and then resumed."""

import json
import os
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import keras
import pytest
from support.runs.small_training import HeldOut, assert_same_bits, new_trainer

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


def test_a_resumed_run_ends_with_the_same_bits_even_if_its_newest_checkpoint_is_damaged(
    uninterrupted, tmp_path, caplog
):
    folder = tmp_path / "resumed"
    checkpoints = interrupted_copy(uninterrupted, folder, step=8)
    contents = bytearray(checkpoints.path(8).read_bytes())
    contents[len(contents) // 2] ^= 1
    checkpoints.path(8).write_bytes(contents)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write('{"step": 30, "lo')
    resumed = new_trainer(folder, held_out=[HeldOut()])
    assert resumed.train() is None
    assert "step-00000008.npz is damaged" in caplog.text and "is skipped" in caplog.text
    assert_same_bits(state_of(resumed.model), uninterrupted.state)
    assert resumed.tokens == uninterrupted.tokens
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [10, 20]
    assert intervals(folder) == intervals(uninterrupted.folder)
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
    survived, ending = set(), []  # a process ends once, even if it still removes a file

    def moment(*key):
        if key not in survived and not ending:
            survived.add(key)
            ending.append(key)
            raise Killed

    def watched(name, original):
        def call(*arguments, **named):
            moment(trainer.step, "before", name)
            result = original(*arguments, **named)
            moment(trainer.step, "after", name)
            return result

        return call

    for owner, name in [
        *((HeldOut, "distributed"), (HeldOut, "translate"), (MetricsFile, "append")),
        *((MetricsFile, "sync"), (Checkpoints, "save"), (Path, "rename"), (Path, "unlink")),
    ]:
        monkeypatch.setattr(owner, name, watched(name, getattr(owner, name)))
    deaths, finished = 0, False
    while not finished:
        ending.clear()
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
    ours, theirs = trainer.metrics_file.read(), whole.metrics_file.read()
    for name in ("step", "tokens", "loss", "bleu", "learning_rate", "train_loss"):
        assert [each[name] for each in ours] == [each[name] for each in theirs], name


class SendSignal(keras.callbacks.Callback):
    """Asks the process to end during the seventh step."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 6:
            os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.long
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
def test_the_best_checkpoint_after_the_last_step_is_off_schedule(tmp_path):
    """It was evaluated only because the run was to end there."""
    for steps in (6, 12):
        settings = {"evaluate_every": 4, "checkpoint_every": 4}
        trainer = new_trainer(tmp_path, held_out=[HeldOut()], steps=steps, **settings)
        trainer.train()
        if steps == 6:
            assert trainer.checkpoints.best() == 6, "otherwise this tests nothing"
            assert trainer.checkpoints.latest() == [4, 6]
    assert trainer.checkpoints.latest() == [4, 8, 12]


def test_a_signal_finishes_the_step_and_saves(tmp_path, capsys):
    trainer = new_trainer(tmp_path, callbacks=[SendSignal()], checkpoint_every=100)
    assert trainer.train() == "SIGTERM was received"
    assert trainer.checkpoints.steps() == [7]
    assert "Stopping after this step" in capsys.readouterr().err


@pytest.mark.long
def test_only_the_newest_checkpoint_by_time_is_averaged_if_others_are_made_by_steps(tmp_path):
    settings = {"steps": 5, "evaluate_every": 2, "checkpoint_minutes": 1e-9}
    for every, averaged in ((3, [3, 5]), (0, [1, 2, 3, 4, 5])):
        trainer = new_trainer(tmp_path / f"{every}", checkpoint_every=every, **settings)
        trainer.train()
        assert trainer.checkpoints.latest() == averaged
