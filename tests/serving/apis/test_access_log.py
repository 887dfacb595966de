"""The access log: its format, what it leaves out, rotation, and a full disk."""

import re

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import get, predict

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
    log.handler.close()
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


def test_a_renamed_file_is_opened_again(tmp_path):
    path, old = tmp_path / "log", tmp_path / "log.1"
    log = AccessLog(path)
    log.add("first")
    assert path.read_text() == "first\n"
    path.rename(old)
    log.add("second")
    log.handler.close()
    assert (old.read_text(), path.read_text()) == ("first\n", "second\n")


def test_a_disk_that_is_full_costs_lines_but_no_request(caplog):
    log = AccessLog("/dev/full")
    for _ in range(3):
        log.add("lost")
    assert caplog.text.count("cannot be written") == 1
    with pytest.raises(OSError, match="No space"):
        log.handler.close()


def test_the_log_may_be_standard_output(capsys):
    AccessLog("-").add("line")
    assert capsys.readouterr().out == "line\n"
