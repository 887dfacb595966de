import contextlib
import io
import re
import shutil
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from support.runs.small_training import HeldOut, final_state, new_trainer, training_data

from t2t_keras import LabelSmoothedCrossEntropy, Transformer, TransformerConfig, TransformerSchedule
from t2t_keras.training.checkpoints import Checkpoints
from t2t_keras.training.hardware import training_cost
from t2t_keras.training.hardware.devices import prepare_devices
from t2t_keras.training.logs.metrics_file import MetricsFile
from t2t_keras.training.optimizers import refuse_moving_average
from t2t_keras.training.trainer import Trainer
from t2t_keras.training.training_config import TrainingConfig


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of 20 steps with two evaluations: its trainer, folder and printed text."""
    folder = tmp_path_factory.mktemp("runs") / "finished"
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        trainer = new_trainer(folder, held_out=[HeldOut()], keep=20)
        assert trainer.train() is None
    return SimpleNamespace(trainer=trainer, folder=folder, printed=printed.getvalue())


def test_checkpoints_are_saved_and_count_tokens(finished):
    checkpoints, plan = finished.trainer.checkpoints, training_data().plan
    lengths = training_data().store.lengths[0] + 1
    assert checkpoints.steps() == [4, 8, 10, 12, 16, 20]  # 10 was the best so far
    _, notes = checkpoints.load(20)
    assert notes["step"] == finished.trainer.step == 20
    assert checkpoints.best() == 20
    assert notes["tokens"] == sum(lengths[plan.batch(step)[0]].sum() for step in range(20))


def test_each_evaluation_writes_a_line_of_metrics(finished):
    first, second = finished.trainer.metrics_file.read()
    assert (first["step"], second["step"]) == (10, 20)
    assert second["loss"] < first["loss"]
    assert second["tokens"] > first["tokens"] > 0
    assert second["flops"] == pytest.approx(2e9 * second["seconds"], rel=1e-2)
    assert first.keys() == {
        *("step", "tokens", "seconds", "tokens_per_second", "learning_rate", "flops"),
        *("train_loss", "train_perplexity", "loss", "perplexity", "token_accuracy"),
        *("bleu", "bleu_signature"),
    }
    assert (first["bleu"], first["bleu_signature"]) == (12.5, "invented")


def small_trainer(folder, optimizer):
    model = Transformer(TransformerConfig(20, num_layers=1, d_model=16, d_ff=16, num_heads=2))
    if optimizer:
        model.compile(optimizer, LabelSmoothedCrossEntropy())
        model.optimizer.build(model.trainable_variables)
    return Trainer(model, training_data(), TrainingConfig(steps=2, evaluate_every=1), folder)


def test_a_constant_learning_rate_that_the_user_changes_is_taken(tmp_path, caplog):
    """A rate that a callback has changed is that of the checkpoint."""
    trainer = small_trainer(tmp_path, keras.optimizers.SGD(1e-3))
    trainer.model.optimizer.learning_rate = 1e-5
    trainer.step = 1
    trainer.save()
    for given, expected in ((1e-3, 1e-5), (1e-4, 1e-4)):
        resumed = small_trainer(tmp_path, keras.optimizers.SGD(given))
        resumed.resume()
        assert float(resumed.model.optimizer.learning_rate) == pytest.approx(expected)
    assert caplog.text.count("The learning rate changes from 0.001 to 0.0001") == 1


def test_a_model_that_cannot_be_trained_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"use_ema=True has no effect.*t2t-train averages"):
        small_trainer(tmp_path, keras.optimizers.Adam(use_ema=True))
    refuse_moving_average(keras.optimizers.Adam(use_ema=True, ema_overwrite_frequency=5))
    with pytest.raises(ValueError, match="`model` must be compiled"):
        small_trainer(tmp_path, None)


def test_progress_evaluations_and_examples_are_printed(finished, monkeypatch):
    line = r"step 5/20  epoch [\d.]+  loss [\d.]+  perplexity [\d.]+  learning rate .* tokens/s"
    assert re.search(line, finished.printed)
    assert "held out:  loss" in finished.printed and "BLEU 12.5" in finished.printed
    assert finished.printed.count("new best loss") == 2
    assert "  source     a source\n  reference  a reference\n" in finished.printed
    calls = []
    monkeypatch.setattr(
        finished.trainer.console, "measuring_loss", lambda *call: calls.append(call)
    )
    finished.trainer.held_out_loss(finished.trainer.held_out[0])
    assert calls == [("", number) for number in range(1, len(calls) + 1)] and calls


def test_every_interval_is_recorded(finished):
    lines = MetricsFile(finished.folder / "training.jsonl").read()
    assert [line["step"] for line in lines] == [5, 10, 15, 20]
    evaluations = finished.trainer.metrics_file.read()
    for line, evaluation in zip(lines[1::2], evaluations, strict=True):
        for name in ("loss", "perplexity"):
            assert line[name] == evaluation[f"train_{name}"]
        assert line["tokens"] == evaluation["tokens"] and line["seconds"] <= evaluation["seconds"]
    speeds = [line["tokens_per_second"] for line in lines]
    mean = lines[-1]["tokens"] / lines[-1]["seconds"]
    assert min(speeds) <= mean <= max(speeds)
    schedule = TransformerSchedule(16, warmup_steps=10, scale=0.1)  # Keras counts from 0
    rates = [float(schedule(line["step"] - 1)) for line in lines]
    assert [line["learning_rate"] for line in lines] == rates
    assert [line["learning_rate"] for line in evaluations] == rates[1::2]
    assert f"learning rate {rates[0]:.3e}" in finished.printed
    folders = {path.parent.name for path in finished.folder.glob("logs/*/events*")}
    assert folders == {"training", "held_out"}, "the same for TensorBoard"


def test_a_finished_run_is_not_trained_again(finished):
    again = new_trainer(finished.folder)
    assert again.train() is None and again.step == 20


def test_training_stops_early_when_the_loss_does_not_fall(tmp_path):
    settings = {"held_out": [HeldOut()], "evaluate_every": 2, "steps": 40}
    trainer = new_trainer(tmp_path, patience=2, **settings)
    trainer.early_stopping.best_value = 0.0
    assert trainer.train() == "no lower loss in 2 evaluations"
    assert trainer.step == 4 and trainer.stopped_early
    again = new_trainer(tmp_path, patience=2, **settings)
    assert again.train() is None and again.step == 4, "early stopping finishes a run"
    longer = new_trainer(tmp_path, patience=3, **settings)
    assert longer.train() == "no lower loss in 3 evaluations" and longer.step == 6


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A run with two named sets whose best checkpoint is chosen by the BLEU of the second."""
    folder = tmp_path_factory.mktemp("runs") / "watched"
    settings = {
        "steps": 6,
        "evaluate_every": 2,
        "patience": 2,
        "keep": 1,
        "best_metric": "mine/bleu",
    }
    with contextlib.redirect_stderr(io.StringIO()) as printed:
        sets = [HeldOut("general"), HeldOut("mine", bleu=20.0)]
        trainer = new_trainer(folder, held_out=sets, **settings)
        reason = trainer.train()
    return SimpleNamespace(trainer=trainer, folder=folder, printed=printed.getvalue(), why=reason)


def test_named_held_out_sets_are_measured_each(watched):
    line = watched.trainer.metrics_file.read()[0]
    names = ("loss", "perplexity", "token_accuracy")
    assert [line[name] for name in names] == [line[f"general/{name}"] for name in names]
    assert (line["bleu"], line["general/bleu"], line["mine/bleu"]) == (12.5, 12.5, 20.0)
    assert "mine/loss" in line and "mine/bleu_signature" not in line
    assert "held out (general):  loss" in watched.printed
    assert "translations (mine):\n  source     a source" in watched.printed
    folders = {path.parent.name for path in watched.folder.glob("logs/*/events*")}
    assert folders == {"training", "general", "mine"}


@pytest.mark.long
def test_the_best_checkpoint_and_patience_follow_the_chosen_metric(watched, tmp_path, caplog):
    """The BLEU stays the same, although the loss falls."""
    losses = [each["mine/loss"] for each in watched.trainer.metrics_file.read()]
    assert losses == sorted(losses, reverse=True)
    assert watched.why == "no higher mine/bleu in 2 evaluations"
    assert watched.trainer.step == 6 and watched.trainer.checkpoints.best() == 2

    # A different choice starts its record over. The sets may also change.
    shutil.copytree(watched.folder, tmp_path / "run")
    settings = {"steps": 8, "evaluate_every": 2, "patience": 1, "best_metric": "mine"}
    resumed = new_trainer(tmp_path / "run", held_out=[HeldOut("mine"), HeldOut("new")], **settings)
    assert resumed.train() is None and resumed.step == 8
    assert "chosen by mine/bleu. Its record starts over with mine/loss" in caplog.text
    assert resumed.checkpoints.best() == 8


@pytest.mark.long
def test_evaluating_and_saving_are_no_training_time(tmp_path, monkeypatch):
    now = 0.0

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            nonlocal now
            now += 1

    def slow(original):
        def call(*arguments):
            nonlocal now
            now += 1000
            return original(*arguments)

        return call

    monkeypatch.setattr(training_cost, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(HeldOut, "translate", slow(HeldOut.translate))
    monkeypatch.setattr(Checkpoints, "save", slow(Checkpoints.save))
    settings = {"held_out": [HeldOut()], "callbacks": [Clock()], "evaluate_every": 3}
    trainer = new_trainer(tmp_path, steps=6, **settings)
    trainer.cost.rate = 10.0
    trainer.train()
    resumed = new_trainer(tmp_path, steps=8, **settings)
    resumed.cost.rate = 500.0
    resumed.train()
    lines = resumed.metrics_file.read()
    assert [(each["step"], each["seconds"]) for each in lines] == [(3, 3), (6, 6), (8, 8)]
    assert [each["flops"] for each in lines] == [30, 60, 60 + 2 * 500]
    assert lines[-1]["tokens_per_second"] == lines[-1]["tokens"] / 8
    assert now > 5000


def test_a_callback_can_stop_training(tmp_path):
    class Stop(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            self.model.stop_training = True

    trainer = new_trainer(tmp_path, callbacks=[Stop()], evaluate_every=3)
    assert trainer.train() == "a callback requested it"
    assert trainer.step == 3


def test_each_shape_that_xla_compiles_is_announced_once(tmp_path, caplog, monkeypatch):
    caplog.set_level("INFO", logger="absl")
    trainer = new_trainer(tmp_path)
    for xla in (False, True):
        monkeypatch.setattr(trainer.model, "xla", xla)
        for length in (5, 7, 5):
            trainer.announce_compilation(({"target": tf.zeros([2, length])}, None))
    announced = [line for line in caplog.messages if line.startswith("Compiling the step with XLA")]
    assert len(announced) == 2 and "batches of 2 x 7 (shape 2)" in announced[1]


@pytest.mark.long
def test_a_run_on_one_replica_can_be_resumed_on_two(tmp_path, replicas):
    """The batches do not depend on the number of replicas, nor do the results."""
    settings = {"dropout": 0.0, "steps": 10, "log_every": 4}
    expected = final_state(tmp_path / "one", **settings)
    new_trainer(tmp_path / "two", **settings | {"steps": 5}).train()
    state = final_state(tmp_path / "two", replicas, **settings)
    for name, array in expected.items():
        np.testing.assert_allclose(state[name], array, atol=1e-5, err_msg=name)
    one, two = (MetricsFile(tmp_path / n / "training.jsonl").read() for n in ("one", "two"))
    assert [line["step"] for line in two] == [4, 5, 8, 10]  # the first process ended at 5
    for name in ("tokens", "loss", "perplexity"):
        assert two[-1][name] == pytest.approx(one[-1][name], rel=1e-5), name


@pytest.mark.long
def test_training_alone_may_use_tf32(tmp_path):
    enabled, seen = tf.config.experimental.tensor_float_32_execution_enabled, []

    class Note(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            seen.append(enabled())

    prepare_devices()
    for allowed in (False, True):
        new_trainer(tmp_path / f"{allowed}", callbacks=[Note()], steps=1, tf32=allowed).train()
        assert seen.pop() == allowed and not enabled()
