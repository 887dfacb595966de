"""Stages: which are run again, failures, and interruptions. A stage here is a line of Python."""

import os
import re
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from t2t_keras.stages import stages as stages_module
from t2t_keras.stages.stages import StageFailed, Stages, last_message, start_command

WRITE = "import sys; open(sys.argv[1], 'a').write('written ')"


def start_python(command, arguments, log):
    """Starts a stage that runs Python code: its first argument, with the others in `sys.argv`."""
    return subprocess.Popen(
        [sys.executable, "-ISc", *arguments], stdout=log, stderr=log, start_new_session=True
    )


@pytest.fixture(autouse=True)
def stages_of_python(monkeypatch):
    monkeypatch.setattr(stages_module, "start_command", start_python)


def new_stages(folder, earlier=None):
    return Stages(folder, "demo", earlier)


def run_write(folder, stages=None, **changes):
    """Runs a stage that appends a word to `output`; returns the number of words in the file."""
    output = folder / "output"
    options = {"arguments": [WRITE, output], "creates": output} | changes
    (stages or new_stages(folder)).run_once("write", "python", **options)
    return output.read_text().count("written")


def test_a_finished_stage_is_not_run_again_unless_its_output_is_missing(tmp_path, capsys):
    log = tmp_path / "logs" / "write.log"
    message = rf"demo: write, see {log}\ndemo: write took 0:00:\d\d\n"
    assert run_write(tmp_path) == 1
    assert re.fullmatch(message, capsys.readouterr().err)
    assert run_write(tmp_path) == 1
    assert capsys.readouterr().err == ""
    (tmp_path / "output").write_text("written written")
    assert run_write(tmp_path) == 2
    (tmp_path / "output").unlink()
    assert run_write(tmp_path) == 1


def test_a_stage_is_run_again_if_its_arguments_an_input_or_what_it_depends_on_changes(tmp_path):
    text, output = tmp_path / "input", tmp_path / "output"
    text.write_text("one")
    assert run_write(tmp_path) == 1
    changed = {"arguments": [WRITE, output, "new"]}
    assert run_write(tmp_path, **changed) == run_write(tmp_path, **changed) == 2
    changed["reads"] = [text]
    assert run_write(tmp_path, **changed) == 3
    os.utime(text, (0, 0))
    assert run_write(tmp_path, **changed) == 3, "the contents are the same"
    text.write_text("two")
    assert run_write(tmp_path, **changed) == 4
    assert run_write(tmp_path, **changed, depends_on=[1, 2]) == 5
    assert run_write(tmp_path, **changed, depends_on=[1, 2]) == 5
    assert run_write(tmp_path, **changed, depends_on=[2, 3]) == 6
    assert run_write(tmp_path, **changed, depends_on=[2, 3], unrecorded=["other"]) == 6


def test_a_failed_stage_is_run_again_with_the_arguments_of_an_earlier_one(tmp_path):
    """It may have changed the output before it failed."""
    run_write(tmp_path)
    with pytest.raises(ValueError, match="write failed"):
        run_write(tmp_path, arguments=[f"{WRITE}; sys.exit(1)", tmp_path / "output"])
    assert run_write(tmp_path) == 3


def test_a_function_is_called_once(tmp_path, capsys):
    output, calls = tmp_path / "output", []

    def write():
        calls.append(None)
        output.write_text("one")

    def call(depends_on, earlier=None):
        stages = new_stages(tmp_path / "log", earlier)
        stages.call_once("count", write, output, depends_on=depends_on)
        return len(calls)

    assert (call(1), call(1)) == (1, 1)
    assert re.fullmatch(r"demo: count\ndemo: count took 0:00:\d\d\n", capsys.readouterr().err)
    assert (call(2), call(2)) == (2, 2)
    earlier = tmp_path / "earlier"
    for changes, expected in (({}, 3), ({}, 3), ({"depends_on": 1}, 4)):
        stages = new_stages(earlier)
        run_write(earlier, stages, **changes)
        assert call(2, stages) == expected, "an earlier stage has changed"


def test_an_output_folder_is_deleted_for_other_inputs_only(tmp_path):
    """A stage resumes in the folder of an interrupted one with the same inputs."""
    code = """
import os, sys
os.makedirs(sys.argv[1], exist_ok=True)
open(sys.argv[1] + "/" + sys.argv[2], "w").close()
sys.exit(len(os.listdir(sys.argv[1])) < int(sys.argv[3]))
"""
    folder = tmp_path / "made"

    def made(name, files):
        options = {"creates": folder / name, "replaces": folder}
        new_stages(tmp_path).run_once("make", "python", [code, folder, name, files], **options)
        return sorted(path.name for path in folder.iterdir())

    with pytest.raises(ValueError, match="make failed"):
        made("a", 2)
    (folder / "kept").touch()
    assert made("a", 2) == ["a", "kept"]
    assert made("b", 1) == ["b"]
    (tmp_path / "stages.json").unlink()  # as in a folder that no stage has made
    with pytest.raises(ValueError, match=r"make writes a new .*made, which has files already"):
        made("c", 1)
    assert [path.name for path in folder.iterdir()] == ["b"]


@pytest.mark.parametrize(
    ("code", "message", "exit_code"),
    [
        (
            "print('bad luck'); raise SystemExit(3)",
            r"demo: write failed \(exit code 3\): bad luck\. .*/logs/write\.log\. .* to resume",
            3,
        ),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            r"demo: write failed \(exit code -9\): no message\.",
            -signal.SIGKILL,
        ),
        ("print('done')", r"demo: write ended without writing .*output: done", None),
    ],
)
def test_a_failed_stage_is_reported_with_its_last_message(tmp_path, code, message, exit_code):
    with pytest.raises(ValueError, match=message) as found:
        run_write(tmp_path, arguments=[code])
    assert isinstance(found.value, StageFailed) == (exit_code is not None)
    assert getattr(found.value, "code", None) == exit_code
    assert run_write(tmp_path) == 1


SAVE_WHEN_ASKED = """
import os, signal, sys, time
def save(number, _):
    open(sys.argv[1], "w").write(signal.Signals(number).name)
    sys.exit(int(sys.argv[3]))
signal.signal(signal.SIGTERM, save)
os.kill(os.getppid(), signal.Signals[sys.argv[2]])
signal.pause()
"""


@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 0), ("SIGHUP", 1)])
def test_a_signal_ends_the_stage_which_saves_first(tmp_path, sent, code):
    saved, handler = tmp_path / "saved", signal.getsignal(signal.Signals[sent])
    with pytest.raises(KeyboardInterrupt):
        run_write(tmp_path, arguments=[SAVE_WHEN_ASKED, saved, sent, code])
    assert saved.read_text() == "SIGTERM"
    assert signal.getsignal(signal.Signals[sent]) == handler


def test_a_signal_while_a_stage_is_started_ends_it(tmp_path):
    ended = []

    def start():
        os.kill(os.getpid(), signal.SIGINT)
        return SimpleNamespace(terminate=lambda: ended.append(True), wait=lambda: None)

    with pytest.raises(KeyboardInterrupt), stages_module.running(start):
        raise AssertionError("the stage goes on")
    assert ended


def test_a_long_stage_reports_its_newest_message_once(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(stages_module, "REPORT_SECONDS", 0.05)
    code = "import time; time.sleep(0.1); print('step 1', flush=True); time.sleep(0.4)\n" + WRITE
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "write.log").write_text("earlier message\n")
    run_write(tmp_path, arguments=[code, tmp_path / "output"])
    found = re.findall("demo: write: (.*)\n", capsys.readouterr().err)
    assert found == ["step 1"], "neither an earlier call's message nor the command line"


def test_a_stage_is_a_command_of_this_package_that_does_not_begin_after_its_parents_death(
    tmp_path, monkeypatch
):
    log = tmp_path / "log"
    with open(log, "wb") as file:
        assert start_command("completion", ["fish"], file).wait() == 2
    assert last_message(log) == "t2t-completion: takes a shell: bash or zsh. Received: fish"
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with open(log, "wb") as file:
        assert start_command("completion", ["fish"], file).wait() == 1
    assert log.read_bytes() == b""


def test_the_last_message_is_the_commands_own(tmp_path):
    log = tmp_path / "log"
    log.write_text(
        "I1122 10:00:00.000000 1 trainer.py:10] step 100, loss 3.2\n"
        "WARNING: All log messages before absl::InitializeLog() is called\n"
        "I0000 00:00:1 cuda.cc:1] no device\n"
        "2026-11-22 10:00:00.0: I tensorflow/core\n"
        "  continued\n"
        "\n"
    )
    assert last_message(log) == "step 100, loss 3.2"
    with open(log, "a") as file:
        file.write("2026-11-22 10:00:07  step 200/9,000  loss 3.1\n")
    assert last_message(log) == "2026-11-22 10:00:07  step 200/9,000  loss 3.1"
    assert last_message(log, log.stat().st_size) == "no message"
