"""One job on two machines, which here are two processes that talk over the loopback."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf
from commands import ROOT, command

from t2t_keras.training.checkpoints import Checkpoints
from t2t_keras.training.machines import LostMachine, Machines, find_strategy

STEPS = 60
SETTINGS = [
    *("--config.model.num_layers=1", "--config.model.d_model=16", "--config.model.d_ff=16"),
    *("--config.model.num_heads=2", "--config.model.dropout=0.0", "--config.data.toy_pairs=400"),
    "--noexport",
    *("--config.data.dev_pairs=20", "--config.data.batches.tokens=600"),
    *("--config.training.checkpoint_every=1", "--config.training.log_every=10"),
    *(f"--config.training.steps={STEPS}", f"--config.training.evaluate_every={STEPS // 2}"),
]


def start_job(folder):
    """Two processes that train together."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    started = []
    for number in range(2):
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": number}}
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", "t2t_keras.cli.train", f"--run={folder}", *SETTINGS],
                stderr=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                env={**os.environ, "TF_CONFIG": json.dumps(task)},
            )
        )
    return started


def wait_for_step(folder, step, jobs):
    deadline = time.monotonic() + 120
    while max(Checkpoints(folder / "checkpoints").steps(), default=0) < step:
        assert time.monotonic() < deadline and all(job.poll() is None for job in jobs)
        time.sleep(0.01)


def lines_of(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_two_processes_stopped_and_killed_train_as_one(tmp_path):
    alone = command("train", f"--run={tmp_path / 'alone'}", *SETTINGS)
    assert alone.returncode == 0, alone.stderr
    folder = tmp_path / "together"

    jobs = start_job(folder)
    wait_for_step(folder, 10, jobs)
    jobs[1].send_signal(signal.SIGTERM)
    said = [job.communicate(timeout=120)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], said
    assert "another machine of the job was asked to stop: step" in said[0]
    assert "SIGTERM was received: step" in said[1]
    stopped_at = max(Checkpoints(folder / "checkpoints").steps())

    jobs = start_job(folder)
    wait_for_step(folder, stopped_at + 10, jobs)
    jobs[1].kill()
    said = jobs[0].communicate(timeout=240)[1]
    jobs[1].communicate()
    assert jobs[0].returncode == 2, said
    assert "another machine of this job ended or cannot be reached" in said
    assert max(Checkpoints(folder / "checkpoints").steps()) < STEPS

    jobs = start_job(folder)
    said = [job.communicate(timeout=240)[1] for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], said
    for ours, theirs in zip(lines_of(folder), lines_of(tmp_path / "alone"), strict=True):
        assert ours["step"] == theirs["step"] and ours["tokens"] == theirs["tokens"]
        # Not train_loss: a run taken up between two lines of its log has a shorter mean to report.
        for name in ("loss", "perplexity"):
            assert ours[name] == pytest.approx(theirs[name], rel=1e-5), name
    ours, theirs = (
        Checkpoints(tmp_path / name / "checkpoints").load(STEPS)[0]
        for name in ("together", "alone")
    )
    for name, array in theirs.items():
        np.testing.assert_allclose(ours[name], array, atol=1e-4, err_msg=name)


def test_only_a_lost_machine_of_several_is_called_so():
    machines = Machines(tf.distribute.get_strategy())
    assert machines.is_chief and machines.everyones(7) == {7}
    failure = tf.errors.UnavailableError(None, None, "Connection reset\nand more")
    with pytest.raises(tf.errors.UnavailableError), machines.watched():
        raise failure
    machines.count = 2
    said = r"cannot be reached \(Connection reset\)\. Start"
    with pytest.raises(LostMachine, match=said), machines.watched():
        raise failure


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        '{"cluster": {}}',
        '{"cluster": {"worker": ["a:1"]}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}',
    ],
)
def test_a_malformed_tf_config_is_refused(monkeypatch, config):
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match=r"TF_CONFIG must be like .* Received: "):
        find_strategy()


def test_a_tpu_is_connected_to_and_set_up(monkeypatch):
    """No TPU is at hand: this holds only that the calls are made, and in their order."""
    done = []
    monkeypatch.setattr(
        tf.distribute.cluster_resolver, "TPUClusterResolver", lambda name: f"resolver of {name}"
    )
    monkeypatch.setattr(
        tf.config, "experimental_connect_to_cluster", lambda it: done.append(("connect", it))
    )
    monkeypatch.setattr(
        tf.tpu.experimental, "initialize_tpu_system", lambda it: done.append(("set up", it))
    )
    monkeypatch.setattr(tf.distribute, "TPUStrategy", lambda it: ("strategy", it))
    assert find_strategy("mine") == ("strategy", "resolver of mine")
    assert done == [("connect", "resolver of mine"), ("set up", "resolver of mine")]
