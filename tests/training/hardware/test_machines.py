"""A job of two machines, which here are two processes connected over the loopback interface."""

import contextlib
import functools
import json
import signal
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from support.processes.commands import HELPERS, running
from support.processes.machine_process import BLEU

from t2t_keras.training.checkpoints import Checkpoints
from t2t_keras.training.hardware.machines import LostMachine, Machines, find_strategy
from t2t_keras.training.logs.metrics_file import MetricsFile

STEPS = 8
SETTINGS = [
    *("--config.model.num_layers=1", "--config.model.d_model=16", "--config.model.d_ff=16"),
    *("--config.model.num_heads=2", "--config.model.dropout=0.0", "--config.data.toy_pairs=400"),
    *("--config.data.dev_pairs=20", "--config.data.batches.tokens=600", "--noexport"),
    *("--config.training.checkpoint_every=1", "--config.training.log_every=10"),
    *("--config.training.best_metric=bleu", "--config.training.patience=1"),
    *(f"--config.training.steps={STEPS}", f"--config.training.evaluate_every={STEPS}"),
]


@contextlib.contextmanager
def job(folder):
    """Runs t2t-train on two machines and yields their processes, the chief first."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                running("machine_process", tf_config, f"--run={folder}", *SETTINGS, package=HELPERS)
            )
            for tf_config in (
                json.dumps(
                    {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
                )
                for index in range(2)
            )
        ]


def newest_step(folder):
    return max(Checkpoints(folder / "checkpoints").steps(), default=0)


def wait_until(condition, processes):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, [each.errors() for each in processes]
        time.sleep(0.01)


@pytest.mark.long
def test_a_job_of_two_machines_is_lost_and_finished_together(tmp_path):
    """Its results are those of one machine."""
    folder, alone = tmp_path / "together", tmp_path / "alone"
    with running("train", f"--run={alone}", *SETTINGS) as single:
        with job(folder) as machines:
            wait_until(lambda: newest_step(folder) >= 2, machines)
            machines[1].stop(signal.SIGKILL)
            assert machines[0].wait() == 2, machines[0].errors()
            assert "another machine of this job ended or cannot be reached" in machines[0].errors()
        assert newest_step(folder) < STEPS

        with job(folder) as machines:
            assert [each.wait() for each in machines] == [0, 0], machines[0].errors()
            assert all(f"BLEU {BLEU} was received" in each.errors() for each in machines)
        # Everything that is compared exists now; averaging the checkpoints would only take time.
        wait_until(lambda: MetricsFile(alone / "metrics.jsonl").read(), [single])

    (ours,), (theirs,) = (MetricsFile(each / "metrics.jsonl").read() for each in (folder, alone))
    assert ours["step"] == theirs["step"] == STEPS and ours["tokens"] == theirs["tokens"]
    # train_loss may differ: it is the mean since the run was resumed or the last log line.
    for name in ("loss", "perplexity"):
        assert ours[name] == pytest.approx(theirs[name], rel=1e-5), name
    notes = Checkpoints(folder / "checkpoints").notes(STEPS)
    assert (notes["best_step"], notes["best_value"]) == (STEPS, BLEU)
    ours, theirs = (Checkpoints(each / "checkpoints").load(STEPS)[0] for each in (folder, alone))
    for name, array in theirs.items():
        np.testing.assert_allclose(ours[name], array, atol=1e-4, err_msg=name)


class SeveralMachines(tf.distribute.MultiWorkerMirroredStrategy):
    """A strategy of machines that do not exist, for their names only."""

    def __init__(self, kind, index, **cluster):
        self.resolver = SimpleNamespace(
            task_type=kind,
            task_id=index,
            cluster_spec=lambda: SimpleNamespace(as_dict=lambda: cluster),
        )

    cluster_resolver = property(lambda self: self.resolver)
    experimental_local_results = staticmethod(lambda value: [value])


@pytest.mark.parametrize(
    ("kind", "index", "is_chief"), [("chief", 0, True), ("worker", 0, False), ("worker", 1, False)]
)
def test_machines_with_a_chief_follow_it(kind, index, is_chief):
    machines = Machines(SeveralMachines(kind, index, chief=["a"], worker=["b", "c"], ps=["d"]))
    assert (machines.is_chief, machines.count) == (is_chief, 3)
    machines.gather = lambda value: tf.stack([value, tf.constant(1, value.dtype)])
    assert machines.all_values(7) == {7, 1}
    assert machines.of_chief(5.0) == (5.0 if is_chief else 1.0)


def test_without_a_chief_the_first_worker_is_it():
    first, second = (Machines(SeveralMachines("worker", i, worker=["a", "b"])) for i in (0, 1))
    assert first.is_chief and not second.is_chief and second.count == 2


def test_a_failed_exchange_is_a_lost_machine_only_in_a_job_of_several():
    machines = Machines(tf.distribute.get_strategy())
    assert machines.is_chief and machines.all_values(7) == {7}
    failure = tf.errors.UnavailableError(None, None, "Connection reset\nmore")
    with pytest.raises(tf.errors.UnavailableError), machines.watched():
        raise failure
    machines.count = 2
    message = r"cannot be reached \(Connection reset\)\. Run the same command"
    with pytest.raises(LostMachine, match=message), machines.watched():
        raise failure


def test_machines_ask_each_other_every_ten_steps(monkeypatch):
    machines, sent = Machines(tf.distribute.get_strategy()), []
    assert machines.any_asked(True, 1, at_once=False)  # a single machine
    monkeypatch.setattr(machines, "all_values", lambda value: sent.append(value) or {value, 1})
    machines.count = 2
    asked = [machines.any_asked(False, step, at_once=step == 7) for step in range(1, 12)]
    assert [step for step, answer in enumerate(asked, 1) if answer] == [7, 10] and sent == [0, 0]


@pytest.mark.long
def test_eight_replicas_with_xla_and_clipping_equal_one(tmp_path):
    result = tmp_path / "result.json"
    with running("eight_replicas_process", str(result), package=HELPERS) as process:
        assert process.wait() == 0, process.errors()
    for communication, (weights, loss) in json.loads(result.read_text()).items():
        assert weights < 1e-6 and loss < 1e-5, communication


def test_nccl_needs_gpus_and_a_tpu_has_its_own_communication(monkeypatch):
    config = '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match=r"`communication` must be 'auto' or 'ring' on machines"):
        find_strategy(communication="nccl")
    with pytest.raises(ValueError, match=r"`communication` must be 'auto' with a TPU"):
        find_strategy("mine", communication="ring")


@pytest.mark.parametrize(
    "config",
    [
        "{",
        "[]",
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "chief", "index": 0}}',
    ],
)
def test_a_malformed_tf_config_is_refused(monkeypatch, config):
    monkeypatch.setenv("TF_CONFIG", config)
    with pytest.raises(ValueError, match=r"TF_CONFIG must be like .* Received: "):
        find_strategy()


def test_a_tpu_is_connected_before_it_is_initialized(monkeypatch):
    """Checks only that the calls are made in order, because the tests have no TPU."""
    calls = []

    def call(name, argument):
        calls.append((name, argument))
        return f"{name} result"

    for owner, name in (
        (tf.distribute.cluster_resolver, "TPUClusterResolver"),
        (tf.config, "experimental_connect_to_cluster"),
        (tf.tpu.experimental, "initialize_tpu_system"),
        (tf.distribute, "TPUStrategy"),
    ):
        monkeypatch.setattr(owner, name, functools.partial(call, name))
    resolver = "TPUClusterResolver result"
    assert find_strategy("mine") == "TPUStrategy result"
    assert calls == [
        ("TPUClusterResolver", "mine"),
        ("experimental_connect_to_cluster", resolver),
        ("initialize_tpu_system", resolver),
        ("TPUStrategy", resolver),
    ]
