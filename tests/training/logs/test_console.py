import io
import os

import keras
import pytest

from t2t_keras.evaluation.held_out import Example
from t2t_keras.training.logs import console as console_module
from t2t_keras.training.logs.console import Console, has_colors
from t2t_keras.training.training_config import TrainingConfig

LOGS = {"loss": 2.0, "perplexity": 7.0}
SETS = {"a/loss": 1.5, "a/bleu": 9.0, "b/loss": 2.0, "b/bleu": 30.0}


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
        monkeypatch.setenv("NO_COLOR", "1")
        config = TrainingConfig(steps=50, log_every=10)
        self.console = Console(config, self.progress, stream=stream, **settings)
        model = keras.Sequential()
        model.compile(keras.optimizers.Adam(0.5))
        self.console.set_model(model)
        self.console.on_train_begin()
        self.console.on_epoch_begin(0)

    def progress(self):
        return self.step, 100 * self.step, self.step / 8

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
def columns(monkeypatch):
    """A function that sets the width of the terminal."""

    def resize(count):
        size = os.terminal_size((count, 24))
        monkeypatch.setattr(console_module.shutil, "get_terminal_size", lambda: size)

    resize(100)
    return resize


@pytest.fixture
def on_terminal(monkeypatch, columns):
    return Training(monkeypatch, Terminal())


def test_a_log_gets_a_line_every_log_every_steps_with_the_speed_since_the_previous_one(training):
    training.take_steps(9)
    assert training.text == ""
    training.take_steps(1)
    assert training.text == (
        "10 s  step 10/50  epoch 1.25  loss 2.0000  perplexity 7.00  learning rate 5.000e-01  "
        "100 tokens/s  0:00:40 left\n"
    )
    training.take_steps(5, seconds=0.5)
    training.time += 20  # an evaluation
    training.console.on_epoch_begin(1)
    training.take_steps(5, seconds=0.5)
    assert "200 tokens/s  0:00:15 left" in training.text.splitlines()[1]
    training.console.progress = lambda: (30, 3000, None)
    training.console.on_train_batch_end(29, {"loss": 2.0})
    assert "step 30/50  loss 2.0000  learning rate" in training.text, "unknown figures"


def test_a_log_gets_a_line_at_least_every_30_seconds(training):
    training.take_steps(10, seconds=29)
    steps = [line.split()[3] for line in training.text.splitlines()]
    assert steps == ["2/50", "4/50", "6/50", "8/50", "10/50"]
    training.time += 29
    training.console.translating("", 100, 300)
    training.time += 1
    training.console.translating("", 200, 300)
    training.console.translating("mine", 300, 300)
    training.time += 30
    training.console.measuring_loss("mine", 2)
    assert training.text.splitlines()[5:] == [
        "320 s  translating held-out text: 200/300",
        "350 s  computing the held-out loss (mine): batch 2",
    ]


def test_the_command_for_tensorboard_is_shown_by_the_chief(monkeypatch):
    training = Training(monkeypatch, io.StringIO(), logs="runs/my run/logs")
    assert "tensorboard '--logdir=runs/my run/logs', then open http://" in training.text
    assert not Training(monkeypatch, io.StringIO(), logs="x", is_chief=False).text


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
    sets = SETS if "/" in best else {}
    training.console.show_evaluation({"loss": 1.5, "bleu": 9.0} | sets, best)
    names = ["held out (a):", "held out (b):"] if sets else ["held out:"]
    expected = [f"0 s  {name}  {line}" for name, line in zip(names, lines, strict=True)]
    assert training.text.splitlines() == expected


def test_each_named_set_has_examples_that_cannot_control_the_terminal(training):
    training.console.show_evaluation({"step": 10, "train_loss": 2.0})
    assert training.text == "", "there is no held-out data"
    training.console.show_evaluation({"me/loss": 2.0, "general/loss": 1.5})
    training.console.show_examples({"general": [Example("a\x1b[2J", "b\rc", "d\u202e")], "me": []})
    assert training.text.splitlines() == [
        "0 s  held out (me):       loss 2",
        "0 s  held out (general):  loss 1.5",
        "translations (general):",
        r"  source     a\x1b[2J",
        r"  reference  b\rc",
        r"  output     d\u202e",
    ]


def test_a_terminal_shows_a_bar_that_is_redrawn_a_few_times_per_second(on_terminal, columns):
    on_terminal.take_steps(9, seconds=0.06)
    assert on_terminal.text.count("\r") == 2
    on_terminal.take_steps(15, seconds=0.06)
    on_terminal.time = 5.2
    on_terminal.take_steps(1)
    *_, line = on_terminal.text.split("\r")
    assert line.startswith("25/50  [==========          ]  epoch 3.12  loss 2.0000  perplexity")
    assert line.endswith(" left\x1b[K") and "\n" not in on_terminal.text
    for narrow in (40, 70):
        columns(narrow)
        on_terminal.take_steps(1)
        *_, line = on_terminal.text.split("\r")
        assert len(line.removesuffix("\x1b[K")) < narrow, "it would wrap"


def test_new_bests_are_colored(monkeypatch, on_terminal):
    monkeypatch.delenv("NO_COLOR")
    console = Console(on_terminal.console.config, on_terminal.progress, stream=Terminal())
    console.show_evaluation({"loss": 1.5, "token_accuracy": 0.25, "flops": 3e9}, "loss")
    assert console.stream.getvalue() == (
        "\x1b[2m0 s\x1b[0m  \x1b[1mheld out:\x1b[0m  loss 1.5  token accuracy 0.25  "
        "\x1b[1;32mnew best loss\x1b[0m\n"
    )


def test_other_lines_start_below_the_bar(on_terminal):
    on_terminal.take_steps(1)
    on_terminal.time += 1
    on_terminal.console.measuring_loss("", 9)
    on_terminal.time += 1
    on_terminal.console.translating("", 1, 2)
    on_terminal.console.show_evaluation({"loss": 1.5})
    loss = "\rcomputing the held-out loss: batch 9\x1b[K"
    translating = "\rtranslating held-out text: 1/2\x1b[K\r\x1b[K"
    assert f"left\x1b[K\n{loss}{translating}3 s  held out:  loss" in on_terminal.text
    on_terminal.take_steps(1)
    on_terminal.console.on_train_end()
    assert on_terminal.text.endswith("left\x1b[K\n")


def test_only_the_chief_prints_progress_and_all_print_notices(monkeypatch):
    training = Training(monkeypatch, io.StringIO(), is_chief=False)
    training.take_steps(10)
    training.time += 99
    training.console.measuring_loss("", 1)
    assert training.text == ""
    training.console.stopping()
    assert training.text.startswith("\nStopping after this step and saving.")


def test_the_notice_of_a_signal_bypasses_the_buffer_that_may_be_in_use(monkeypatch, tmp_path):
    with open(tmp_path / "log", "w") as stream:
        stream.write("in the buffer")
        Training(monkeypatch, stream).console.stopping()
        assert (tmp_path / "log").read_text().startswith("\nStopping after this step")


@pytest.mark.parametrize(
    ("stream", "environment", "are_on"),
    [
        (Terminal, {"TERM": "xterm"}, True),
        (Terminal, {"TERM": "dumb"}, False),
        (Terminal, {"NO_COLOR": "1"}, False),
        (Terminal, {"NO_COLOR": ""}, True),
        (io.StringIO, {"TERM": "xterm"}, False),
        (io.StringIO, {"FORCE_COLOR": "1"}, True),
        (io.StringIO, {"FORCE_COLOR": "0"}, False),
        (Terminal, {"FORCE_COLOR": "1", "TERM": "dumb"}, True),
        (io.StringIO, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_stream_and_environment_decide_on_colors(monkeypatch, stream, environment, are_on):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert has_colors(stream()) == are_on
