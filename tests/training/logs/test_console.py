import io
import os

import keras
import pytest

from t2t_keras.evaluation.held_out import Example
from t2t_keras.training.logs import console as console_module
from t2t_keras.training.logs.console import Console
from t2t_keras.training.training_config import TrainingConfig

LOGS = {"loss": 2.0, "perplexity": 7.0}
HELD_OUT = {
    "step": 10,
    "train_loss": 2.0,
    "loss": 1.5,
    "token_accuracy": 0.25,
    "bleu": 12.5,
    "flops": 3e9,
}


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Training:
    """Drives a console; every step takes a second and reads 100 tokens."""

    def __init__(self, monkeypatch, stream, **settings):
        self.step, self.time = 0, 0.0
        self.stream = stream
        monkeypatch.setattr(console_module.time, "monotonic", lambda: self.time)
        monkeypatch.setattr(console_module, "time_stamp", lambda: f"{self.time:.0f} s")
        config = TrainingConfig(steps=50, log_every=10)
        self.console = Console(
            config,
            lambda: (self.step, 100 * self.step, self.step / 8),
            stream=stream,
            **settings,
        )
        model = keras.Sequential()
        model.compile(keras.optimizers.Adam(0.5))
        self.console.set_model(model)
        self.console.on_train_begin()
        self.console.on_epoch_begin(0)

    def take_steps(self, count, seconds=1.0):
        for _ in range(count):
            self.step += 1
            self.time += seconds
            self.console.on_train_batch_end(self.step - 1, LOGS)

    @property
    def text(self):
        return self.stream.getvalue()


@pytest.fixture
def training(monkeypatch):
    return Training(monkeypatch, io.StringIO())


@pytest.fixture
def on_terminal(monkeypatch):
    monkeypatch.setattr(
        console_module.shutil, "get_terminal_size", lambda *_, **__: os.terminal_size((100, 24))
    )
    monkeypatch.setenv("NO_COLOR", "1")
    return Training(monkeypatch, Terminal())


def test_a_log_gets_a_line_every_log_every_steps(training):
    training.take_steps(9)
    assert training.text == ""
    training.take_steps(1)
    assert training.text == (
        "10 s  step 10/50  epoch 1.25  loss 2.0000  perplexity 7.00  learning rate 5.000e-01  "
        "100 tokens/s  0:00:40 left\n"
    )


def test_a_log_gets_a_line_at_least_every_30_seconds(training):
    training.take_steps(9, seconds=29)
    steps = [line.split()[3] for line in training.text.splitlines()]
    assert steps == ["2/50", "4/50", "6/50", "8/50"]
    training.take_steps(1, seconds=29)
    assert "step 10/50" in training.text, "the regular lines remain"
    training.time += 29
    training.console.translating("", 100, 300)
    training.time += 1
    training.console.translating("", 200, 300)
    training.console.translating("mine", 300, 300)
    assert training.text.splitlines()[5:] == ["320 s  translating held-out text: 200/300"]


def test_a_log_is_not_silent_while_the_held_out_loss_is_computed(training):
    for batch in range(1, 5):
        training.time += 15
        training.console.measuring_loss("mine", batch)
    assert training.text == (
        "30 s  computing the held-out loss (mine): batch 2\n"
        "60 s  computing the held-out loss (mine): batch 4\n"
    )


def test_figures_that_are_unknown_are_left_out(monkeypatch):
    training = Training(monkeypatch, io.StringIO())
    training.console.progress = lambda: (10, 1000, None)
    training.console.on_train_batch_end(9, {"loss": 2.0})
    assert "step 10/50  loss 2.0000  learning rate" in training.text


def test_the_command_for_tensorboard_is_shown_once(monkeypatch):
    training = Training(monkeypatch, io.StringIO(), logs="runs/my run/logs")
    assert training.text == (
        "Learning curves: tensorboard '--logdir=runs/my run/logs', then open "
        "http://localhost:6006\n"
    )
    assert not Training(monkeypatch, io.StringIO(), logs="x", is_chief=False).text


def test_speed_is_measured_since_the_previous_line_without_evaluations(training):
    training.take_steps(10)
    training.take_steps(5, seconds=0.5)
    training.time += 20
    training.console.on_epoch_begin(1)
    training.take_steps(5, seconds=0.5)
    assert "200 tokens/s  0:00:15 left" in training.text.splitlines()[1]


@pytest.mark.parametrize(
    ("best", "lines"),
    [
        ("loss", ["loss 1.5  BLEU 9  new best loss"]),
        ("bleu", ["loss 1.5  BLEU 9  new best BLEU"]),
        ("b/bleu", ["loss 1.5  BLEU 9", "loss 2  BLEU 30  new best BLEU"]),
        ("a/loss", ["loss 1.5  BLEU 9  new best loss", "loss 2  BLEU 30"]),
    ],
)
def test_a_new_best_is_named_in_the_line_of_its_set(training, best, lines):
    sets = {"a/loss": 1.5, "a/bleu": 9.0, "b/loss": 2.0, "b/bleu": 30.0} if "/" in best else {}
    training.console.show_evaluation({"loss": 1.5, "bleu": 9.0} | sets, best)
    names = ["held out (a):", "held out (b):"] if sets else ["held out:"]
    expected = [f"0 s  {name}  {line}" for name, line in zip(names, lines, strict=True)]
    assert training.text.splitlines() == expected


def test_each_named_set_has_a_line_and_examples_of_its_own(training):
    training.console.show_evaluation({"step": 10, "train_loss": 2.0})
    assert training.text == "", "there is no held-out data"
    sets = {"general/loss": 1.5, "general/bleu": 12.5, "me/loss": 2.0, "me/bleu": 30.0}
    training.console.show_evaluation(HELD_OUT | sets)
    training.console.show_examples({"general": [Example("a\x1b[2J", "b\rc", "d\u202e")], "me": []})
    assert training.text.splitlines() == [
        "0 s  held out (general):  loss 1.5  BLEU 12.5",
        "0 s  held out (me):       loss 2  BLEU 30",
        "translations (general):",
        r"  source     a\x1b[2J",  # examples cannot control the terminal
        r"  reference  b\rc",
        r"  output     d\u202e",
    ]


def test_a_terminal_shows_a_moving_bar(on_terminal):
    on_terminal.take_steps(25)
    *_, line = on_terminal.text.split("\r")
    assert line == (
        "25/50  [==========          ]  epoch 3.12  loss 2.0000  perplexity 7.00  "
        "100 tokens/s  0:00:25 left\x1b[K"
    )
    assert "\n" not in on_terminal.text


def test_a_terminal_shows_times_and_new_bests_in_color(monkeypatch, on_terminal):
    monkeypatch.delenv("NO_COLOR")
    colored = Training(monkeypatch, Terminal())
    colored.console.show_evaluation(HELD_OUT, "loss")
    assert colored.text == (
        "\x1b[2m0 s\x1b[0m  \x1b[1mheld out:\x1b[0m  loss 1.5  token accuracy 0.25  BLEU 12.5  "
        "\x1b[1;32mnew best loss\x1b[0m\n"
    )


def test_the_bar_is_redrawn_a_few_times_per_second(on_terminal):
    on_terminal.take_steps(9, seconds=0.01)
    assert on_terminal.text.count("\r") == 0
    on_terminal.take_steps(20, seconds=0.01)
    assert on_terminal.text.count("\r") == 2


@pytest.mark.parametrize("columns", [40, 70])
def test_a_narrow_terminal_gets_no_line_that_wraps(monkeypatch, on_terminal, columns):
    monkeypatch.setattr(
        console_module.shutil, "get_terminal_size", lambda: os.terminal_size((columns, 24))
    )
    on_terminal.take_steps(1)
    assert len(on_terminal.text.strip("\r").removesuffix("\x1b[K")) < columns


def test_other_lines_start_below_the_bar(on_terminal):
    on_terminal.take_steps(1)
    on_terminal.time += 1
    on_terminal.console.measuring_loss("", 9)
    on_terminal.time += 1
    on_terminal.console.translating("", 1, 2)
    on_terminal.console.show_evaluation(HELD_OUT)
    on_terminal.console.show_examples({"": [Example("a", "b", "c")]})
    loss = "\rcomputing the held-out loss: batch 9\x1b[K"
    translating = "\rtranslating held-out text: 1/2\x1b[K\r\x1b[K"
    assert f"left\x1b[K\n{loss}{translating}3 s  held out:  loss" in on_terminal.text
    assert "12.5\n  source     a\n" in on_terminal.text
    on_terminal.take_steps(1)
    on_terminal.console.on_train_end()
    assert on_terminal.text.endswith("left\x1b[K\n")


def test_only_the_chief_prints_progress_and_all_print_notices(monkeypatch):
    training = Training(monkeypatch, io.StringIO(), is_chief=False)
    training.take_steps(10)
    assert training.text == ""
    training.time += 99
    training.console.measuring_loss("", 1)
    assert training.text == ""
    training.console.stopping()
    assert training.text.startswith("\nStopping after this step and saving.")


def test_the_notice_of_a_signal_bypasses_the_buffer_that_may_be_in_use(monkeypatch, tmp_path):
    with open(tmp_path / "log", "w") as stream:
        training = Training(monkeypatch, stream)
        stream.write("in the buffer")
        training.console.stopping()
        assert (tmp_path / "log").read_text().startswith("\nStopping after this step")
