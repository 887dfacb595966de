import io
import json
import re

import keras
import numpy as np
import pytest
from small_training import HeldOut, data, trainer, weights

from t2t_keras.training.callbacks import Lines
from t2t_keras.training.trainer import NonFiniteLoss
from t2t_keras.training.training_config import TrainingConfig


def test_it_learns_and_counts(tmp_path):
    made = trainer(tmp_path, keep=20)
    assert made.train() is None
    assert made.step == 20
    assert made.checkpoints.steps() == [4, 8, 12, 16, 20]
    _, notes = made.checkpoints.load(20)
    plan = data().plan
    seen = sum(int(plan.lengths[plan.batch(step)[0]].sum()) for step in range(20))
    assert notes["tokens"] == seen


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


def test_it_stops_when_nothing_gets_better(tmp_path):
    made = trainer(tmp_path, held_out=HeldOut(), patience=1, evaluate_every=2, learning_rate=1e-9)
    made.train()
    made.progress["best_loss"] = 0.0  # better than anything can be
    made = trainer(tmp_path, held_out=HeldOut(), patience=2, evaluate_every=2, steps=40)
    made.resume = lambda: setattr(made, "progress", {**made.progress, "best_loss": 0.0})
    assert made.train() == "2 evaluations brought no lower loss"
    assert made.step == 4 and made.has_given_up()
    again = trainer(tmp_path, held_out=HeldOut(), patience=2, evaluate_every=2, steps=40)
    assert again.train() is None and again.step == 4, "it has ended, as after its last step"
    more = trainer(tmp_path, held_out=HeldOut(), patience=3, evaluate_every=2, steps=40)
    assert more.train() == "3 evaluations brought no lower loss" and more.step == 6


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


def test_shapes_that_xla_compiles_are_counted(tmp_path, caplog):
    caplog.set_level("INFO", logger="absl")
    trainer(tmp_path, xla="on", steps=4).train()
    plan = data().plan
    seen = len({plan.batch(step)[1:] for step in range(4)})
    said = [line for line in caplog.messages if line.startswith("XLA compiles the step for")]
    assert seen > 1 and len(said) == seen and said[-1].endswith(f"shapes: {seen}")


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
