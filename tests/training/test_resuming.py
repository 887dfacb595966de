"""Training that is stopped, killed or hindered, and goes on where it was."""

import json
import os
import random
import signal
import time

import keras
import numpy as np
import pytest
from commands import running
from small_training import HeldOut, assert_same, trainer, weights

from t2t_keras.training.checkpoints import Checkpoints


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    made = trainer(tmp_path_factory.mktemp("runs") / "whole", keep=20)
    assert made.train() is None
    return made


@pytest.mark.parametrize("step", [4, 16])
def test_resumed_at_a_checkpoint_it_ends_with_the_same_bits(uninterrupted, tmp_path, step):
    (tmp_path / "checkpoints").mkdir()
    newest = uninterrupted.checkpoints.path(step)
    (tmp_path / "checkpoints" / newest.name).write_bytes(newest.read_bytes())
    resumed = trainer(tmp_path)
    resumed.train()
    assert_same(weights(resumed), weights(uninterrupted))
    assert resumed.progress["tokens"] == uninterrupted.progress["tokens"]


def arrays(path):
    with np.load(path) as file:
        return [file[name] for name in file.files]


def process(folder, result, *more):
    return running("small_training_process", folder, result, *more, package="")


def test_killed_three_times_it_ends_with_the_bits_of_an_uninterrupted_run(tmp_path):
    folder, result = tmp_path / "killed", tmp_path / "killed.npz"
    checkpoints = Checkpoints(folder / "checkpoints")
    choices, kills = random.Random(time.time()), []
    with process(tmp_path / "whole", tmp_path / "whole.npz") as whole:
        for _ in range(3):
            with process(folder, result) as killed:
                began = max(checkpoints.steps(), default=0)
                target, deadline = began + choices.randint(1, 15), time.monotonic() + 120
                while max(checkpoints.steps(), default=0) < target and time.monotonic() < deadline:
                    time.sleep(0.002)
                time.sleep(choices.random() * 0.05)
                assert killed.stop(signal.SIGKILL) == -signal.SIGKILL
            assert not result.exists()
            kills.append(max(checkpoints.steps()))
        assert kills == sorted(set(kills)) and kills[-1] < 60, "each process got further"
        with process(folder, result) as last:
            assert last.wait() == 0, last.errors()
        assert whole.wait() == 0, whole.errors()
    assert_same(arrays(result), arrays(tmp_path / "whole.npz"))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_ends(tmp_path, capsys, number):
    class Press(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 6:
                os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    made = trainer(tmp_path, callbacks=[Press()], checkpoint_every=100)
    assert made.train() == f"{number.name} was received"
    assert made.checkpoints.steps() == [7]
    assert "Stopping after this step" in capsys.readouterr().err
    assert signal.getsignal(number) is before


def test_a_second_signal_ends_at_once(tmp_path):
    with process(tmp_path, tmp_path / "result.npz", "impatient") as twice:
        assert twice.wait() == 130, twice.errors()
    assert not Checkpoints(tmp_path / "checkpoints").steps()


def test_evaluations_after_the_checkpoint_are_made_again(tmp_path):
    trainer(tmp_path, held_out=HeldOut(), keep=20).train()
    for step in (12, 16, 20):
        Checkpoints(tmp_path / "checkpoints").path(step).unlink()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 30, "lo')
    trainer(tmp_path, held_out=HeldOut()).train()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [10, 20]


def test_begun_on_one_replica_it_goes_on_with_two(tmp_path, replicas):
    """The batches are those of the whole job, whatever the number of replicas."""
    whole = trainer(tmp_path / "whole", dropout=0.0)
    whole.train()
    trainer(tmp_path / "changed", dropout=0.0, steps=8).train()
    changed = trainer(tmp_path / "changed", replicas, dropout=0.0)
    changed.train()
    assert changed.progress["tokens"] == whole.progress["tokens"]
    for ours, theirs in zip(weights(changed), weights(whole), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_newest_checkpoint_is_passed_over(tmp_path, caplog, uninterrupted, damage):
    trainer(tmp_path, steps=8).train()
    newest = Checkpoints(tmp_path / "checkpoints").path(8)
    contents = bytearray(newest.read_bytes())
    if damage == "cut":
        contents = contents[: len(contents) // 2]
    else:
        contents[len(contents) // 2] ^= 1
    newest.write_bytes(contents)
    resumed = trainer(tmp_path)
    resumed.train()
    assert "step-00000008.npz is damaged" in caplog.text and "Falling back" in caplog.text
    assert_same(weights(resumed), weights(uninterrupted))
    resumed.checkpoints.load(8)  # written anew


def test_a_full_disk_ends_the_run_and_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    made = trainer(tmp_path)
    whole, saved = np.savez, []

    def savez(file, **arrays):
        if len(saved) == 2:
            file.write(b"half")
            raise OSError(28, "No space left on device")
        saved.append(file)
        whole(file, **arrays)

    monkeypatch.setattr("t2t_keras.training.checkpoints.np.savez", savez)
    with pytest.raises(OSError, match=r"step 12 could not be written .* that of step 8: make room"):
        made.train()
    assert made.checkpoints.steps() == [4, 8]
    assert not list((tmp_path / "checkpoints").glob("*.unfinished"))
