import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from pipelines.batch_plan import BatchConfig, BatchPlan
from pipelines.dataset import TrainingData
from pipelines.id_store import IdStore, Shard
from t2t_keras.experiment import Experiment
from t2t_keras.training.callbacks import Lines
from t2t_keras.training.checkpoints import Checkpoints
from t2t_keras.training.trainer import NonFiniteLoss, Trainer
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig


def data(count=160, seed=0):
    numbers = np.random.default_rng(seed)

    def sentence():
        return numbers.integers(4, 20, numbers.integers(1, 9))

    store = IdStore([Shard.of([(sentence(), sentence()) for _ in range(count)])])
    plan = BatchPlan(store.lengths + 1, BatchConfig(tokens=160, buckets=3, max_length=10), seed=1)
    return TrainingData(store, plan)


class HeldOut:
    """Loss on the training's own batches, and a score that is made up."""

    def distributed(self, strategy):
        plan = BatchPlan(data().store.lengths + 1, BatchConfig(tokens=400, max_length=10))
        return TrainingData(data().store, plan).distributed(strategy)

    def translate(self):
        return {"bleu": 12.5, "bleu_signature": "made up", "examples": ["  source     x"]}


def trainer(folder, strategy=None, held_out=None, callbacks=(), dropout=0.2, **settings):
    settings = {"steps": 20, "checkpoint_every": 4, "evaluate_every": 10, "log_every": 5} | settings
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=20, num_layers=1, d_model=16, d_ff=16, num_heads=2, dropout=dropout
        ),
        training=TrainingConfig(warmup_steps=10, **settings),
    )
    keras.utils.set_random_seed(1)
    strategy = strategy or tf.distribute.get_strategy()
    with strategy.scope():
        model = experiment.compiled_model(metrics=[], by_products=True)
        model.optimizer.build(model.trainable_variables)
        Path(folder).mkdir(parents=True, exist_ok=True)
        return Trainer(
            model, data(), experiment.training, folder, held_out, strategy, callbacks, rate=2e9
        )


def weights(made):
    return [v.numpy() for v in made.model.variables] + [
        v.numpy() for v in made.model.optimizer.variables
    ]


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    made = trainer(tmp_path_factory.mktemp("runs") / "whole", keep=20)
    assert made.train() is None
    return made


def test_it_learns_and_counts(uninterrupted):
    assert uninterrupted.step == 20
    assert uninterrupted.checkpoints.steps() == [4, 8, 12, 16, 20]
    _, notes = uninterrupted.checkpoints.load(20)
    plan = data().plan
    seen = sum(int(plan.lengths[plan.batch(step)[0]].sum()) for step in range(20))
    assert notes["tokens"] == seen


@pytest.mark.parametrize("step", [4, 16])
def test_resumed_at_a_checkpoint_it_ends_with_the_same_bits(uninterrupted, tmp_path, step):
    (tmp_path / "checkpoints").mkdir()
    newest = uninterrupted.checkpoints.path(step)
    (tmp_path / "checkpoints" / newest.name).write_bytes(newest.read_bytes())
    resumed = trainer(tmp_path)
    resumed.train()
    assert_same(weights(resumed), weights(uninterrupted))
    assert resumed.progress["tokens"] == uninterrupted.progress["tokens"]


SLOW_RUN = """
import sys, time
sys.path.insert(0, {tests!r})
import test_trainer
class Slowly(test_trainer.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.02)
made = test_trainer.trainer({folder!r}, callbacks=[Slowly()], checkpoint_every=1, steps=60)
made.train()
test_trainer.np.savez({result!r}, *test_trainer.weights(made))
"""


def process(folder, result, stderr=subprocess.PIPE):
    code = SLOW_RUN.format(tests=os.path.dirname(__file__), folder=str(folder), result=str(result))
    return subprocess.Popen([sys.executable, "-c", code], stderr=stderr, text=True)


def arrays(path):
    with np.load(path) as file:
        return [file[name] for name in file.files]


def test_killed_three_times_it_ends_with_the_bits_of_an_uninterrupted_run(tmp_path):
    whole = process(tmp_path / "whole", tmp_path / "whole.npz", subprocess.DEVNULL)
    choices, kills = random.Random(time.time()), []
    for _ in range(3):
        killed = process(tmp_path / "killed", tmp_path / "killed.npz")
        checkpoints = Checkpoints(tmp_path / "killed" / "checkpoints")
        began = max(checkpoints.steps(), default=0)
        target, deadline = began + choices.randint(1, 15), time.monotonic() + 120
        while max(checkpoints.steps(), default=0) < target and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(choices.random() * 0.05)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert not (tmp_path / "killed.npz").exists()
        kills.append(max(checkpoints.steps()))
    assert kills == sorted(set(kills)) and kills[-1] < 60, "each process got further"
    last = process(tmp_path / "killed", tmp_path / "killed.npz")
    said = last.communicate()[1]
    assert last.returncode == 0, said
    assert whole.wait() == 0
    assert_same(arrays(tmp_path / "killed.npz"), arrays(tmp_path / "whole.npz"))


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
    code = f"""
import os, signal, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_trainer
class Twice(test_trainer.keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
test_trainer.trainer({str(tmp_path)!r}, callbacks=[Twice()]).train()
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 130
    assert not Checkpoints(tmp_path / "checkpoints").steps()


def test_a_loss_that_is_not_finite_ends_the_run_and_names_its_batch(tmp_path):
    class Spoil(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 5:
                matrix = self.model.embedding.matrix
                matrix.assign(matrix * float("nan"))

    made = trainer(tmp_path, callbacks=[Spoil()], checkpoint_every=3)
    numbers = list(data().examples(6))[:3]
    said = r"The loss of step 7 is nan. Its batch is made of the sentence pairs "
    with pytest.raises(NonFiniteLoss, match=said + ", ".join(map(str, numbers))):
        made.train()
    assert made.checkpoints.steps() == [3, 6]
    # That of step 6 was written by a model whose loss was still finite; 3 was never in doubt.
    assert np.isfinite(made.checkpoints.load(3)[0]["model/0000"]).all()


def test_an_evaluation_writes_a_line(tmp_path, capsys):
    made = trainer(tmp_path, held_out=HeldOut(), learning_rate=0.1)
    made.train()
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [10, 20]
    assert lines[1]["loss"] < lines[0]["loss"]
    assert lines[1]["tokens"] > lines[0]["tokens"] > 0
    assert lines[1]["bleu"] == 12.5
    assert lines[1]["flops"] == pytest.approx(2e9 * lines[1]["seconds"], rel=1e-2)
    assert {
        "perplexity",
        "token_accuracy",
        "train_loss",
        "learning_rate",
        "tokens_per_second",
    } <= lines[0].keys()
    assert made.checkpoints.best() == 20
    said = capsys.readouterr().err
    assert re.search(r"step 5/20  loss [\d.]+  perplexity [\d.]+  learning rate .* tokens/s", said)
    assert "held out:  loss" in said and "bleu 12.5" in said and "  source     x" in said
    assert list((tmp_path / "logs").glob("*/events*"))


def test_on_a_terminal_there_is_a_progress_bar(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    trainer(tmp_path, held_out=HeldOut()).train()
    said = "".join(capsys.readouterr())
    assert "Epoch 2/2" in said and "bleu: 12.5" in said and "step 5/20" not in said
    assert json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[0])["bleu_signature"]


def test_evaluations_after_the_checkpoint_are_made_again(tmp_path):
    trainer(tmp_path, held_out=HeldOut(), keep=20).train()
    for step in (12, 16, 20):
        Checkpoints(tmp_path / "checkpoints").path(step).unlink()
    with (tmp_path / "metrics.jsonl").open("a") as file:
        file.write('{"step": 30, "lo')
    trainer(tmp_path, held_out=HeldOut()).train()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [10, 20]


def test_it_stops_when_nothing_gets_better(tmp_path):
    made = trainer(tmp_path, held_out=HeldOut(), patience=1, evaluate_every=2, learning_rate=1e-9)
    made.train()
    made.progress["best_loss"] = 0.0  # better than anything can be
    made = trainer(tmp_path, held_out=HeldOut(), patience=2, evaluate_every=2, steps=40)
    made.resume = lambda: setattr(made, "progress", {**made.progress, "best_loss": 0.0})
    assert made.train() == "2 evaluations brought no lower loss"
    assert made.step == 4


def test_a_callback_may_stop_it(tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    made = trainer(tmp_path, callbacks=[Stop()])
    assert made.train() == "a callback asked for it"
    assert made.step == 10


def test_two_replicas_train_as_one(tmp_path, replicas):
    one = trainer(tmp_path / "one", dropout=0.0)
    two = trainer(tmp_path / "two", replicas, dropout=0.0, held_out=HeldOut())
    one.train()
    two.train()
    for ours, theirs in zip(weights(one), weights(two), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


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


def test_shapes_that_xla_compiles_are_counted(tmp_path, caplog):
    caplog.set_level("INFO", logger="absl")
    trainer(tmp_path, xla="on", steps=4).train()
    plan = data().plan
    seen = len({plan.batch(step)[1:] for step in range(4)})
    said = [line for line in caplog.messages if line.startswith("XLA compiles the step for")]
    assert seen > 1 and len(said) == seen and said[-1].endswith(f"shapes: {seen}")


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


def test_a_line_tells_speed_and_time_left(monkeypatch):
    stream, seen = io.StringIO(), iter([0, 1000, 1000])
    clock = iter([0.0, 10.0])
    monkeypatch.setattr("t2t_keras.training.callbacks.time.monotonic", lambda: next(clock))
    lines = Lines(
        TrainingConfig(steps=50, log_every=10), lambda: next(seen), lambda: 0, stream=stream
    )
    model = keras.Sequential()
    model.compile(keras.optimizers.Adam(0.5))
    lines.set_model(model)
    lines.on_train_begin()
    for batch in range(10):
        lines.on_train_batch_end(batch, {"loss": 2.0, "perplexity": 7.0})
    assert stream.getvalue() == (
        "step 10/50  loss 2.0000  perplexity 7.00  learning rate 5.000e-01  100 tokens/s  "
        "0:00:40 left\n"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "`steps` must be a whole number of at least 1"),
        ({"precision": "float16"}, "`precision` must be one of 'float32', 'mixed_bfloat16'"),
        ({"xla": "yes"}, "`xla` must be one of"),
        ({"clip_norm": -1.0}, "`clip_norm` must be a positive number"),
        ({"checkpoint_minutes": 0.0}, "`checkpoint_every` must be at least 1 where"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        TrainingConfig(**settings).validate()
