"""The access log: its format, what it leaves out, rotation, and a full disk."""

import os
import re
import threading

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import get, predict, until

from t2t_keras.serving.apis import access_log as module
from t2t_keras.serving.apis.access_log import AccessLog

COMBINED = re.compile(
    r'127\.0\.0\.1 - - \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "([^"]*)" (\d{3}) (\d+|-) '
    r'"([^"\\]|\\.)*" "([^"\\]|\\.)*" \d+\.\d{3}'
)


def test_every_answer_has_a_line_without_texts_and_keys(tmp_path):
    log = AccessLog(tmp_path / "log")
    with serving(en_de=EchoEngine(), options={"access_log": log}) as address:
        query = "q=secret+text&source=en&target=de&api_key=secret"
        get(address, f"translate?{query}")
        headers = {"Referer": f"{address}/?{query}", "User-Agent": 'a "b"\t\u00e9'}
        predict(address, b"q=secret", "translate", **headers)
        get(address, "healthz", "HEAD")
        get(address, "nowhere")
    lines = (tmp_path / "log").read_text().splitlines()
    assert all(COMBINED.fullmatch(line) for line in lines), lines
    assert [COMBINED.fullmatch(line).groups()[:3] for line in lines] == [
        ("GET /translate HTTP/1.1", "200", "33"),
        ("POST /translate HTTP/1.1", "400", "54"),
        ("HEAD /healthz HTTP/1.1", "200", "-"),
        ("GET /nowhere HTTP/1.1", "404", "44"),
    ]
    assert "secret" not in "\n".join(lines)
    assert '"a \\"b\\"\\t\\xe9" 0.' in lines[1]


def test_a_renamed_file_is_opened_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHECK_SECONDS", 0)
    path, old = tmp_path / "log", tmp_path / "log.1"
    log = AccessLog(path)
    log.add("first\n")
    until(lambda: path.read_text() == "first\n")
    path.rename(old)
    log.add("second\n")
    until(lambda: path.exists() and path.read_text() == "second\n")
    monkeypatch.setattr(module, "CHECK_SECONDS", 1000)
    path.rename(old)
    log.open_again()
    log.add("third\n")
    log.close()
    assert (old.read_text(), path.read_text()) == ("second\n", "third\n")


def test_a_disk_that_is_full_or_blocks_costs_lines_but_no_request(tmp_path, monkeypatch, caplog):
    log, is_full, may_go_on = AccessLog(tmp_path / "log"), [True], threading.Event()
    real = os.write

    def write(file, text):
        if is_full:
            raise OSError(28, "No space left on device")
        assert may_go_on.wait(30)
        return real(file, text)

    monkeypatch.setattr(module.os, "write", write)
    for count in range(1, 4):
        log.add("lost\n")
        until(lambda count=count: log.dropped == count)
    is_full.clear()
    monkeypatch.setattr(module, "MOST_LINES", 5)
    log.add("written\n")
    until(lambda: not log.lines)
    for _ in range(10):
        log.add("x\n")  # and nobody waits for the disk
    may_go_on.set()
    log.close()
    assert (tmp_path / "log").read_text() == "written\n" + "x\n" * 5
    assert caplog.text.count("cannot be written") == caplog.text.count("is written again") == 1
    assert "it lacks 8 lines" in caplog.text


def test_after_a_full_disk_a_line_begins_anew(tmp_path, monkeypatch):
    real, room = os.write, [3]

    def write(file, text):
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = real(file, text[: room[0]])
        room[0] -= written
        return written

    monkeypatch.setattr(module.os, "write", write)
    log = AccessLog(tmp_path / "log")
    log.add("cut off\n")
    until(lambda: log.dropped == 1)
    room[0] = 1000
    log.add("whole\n")
    log.close()
    assert (tmp_path / "log").read_text() == "cut\nwhole\n"


def test_a_pipe_is_no_log(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="must not be a pipe"):
        AccessLog(tmp_path / "pipe")
