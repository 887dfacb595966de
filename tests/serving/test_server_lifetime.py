"""What happens to a server: clients that die or dawdle, new versions, the end, wrong flags."""

import concurrent.futures
import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request

import pytest
from commands import command
from served_model import write_version
from serving_client import figure, get, predict, served

TOO_LONG = "x" * 5000


@pytest.fixture(scope="module")
def address(backwards_export):
    with served(backwards_export.parent) as (process, address):
        yield address
        assert process.stop() == 0


def test_clients_that_are_killed_take_nothing_with_them(address):
    rows = 't2t_batch_rows_sum{signature="serving_default"}'
    before = figure(address, rows)
    host, port = address.removeprefix("http://").split(":")
    body = json.dumps({"instances": ["slow " * 20] * 32}).encode()
    head = f"POST /v1/models/backwards:predict HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}"
    whole = head.encode() + b"\r\n\r\n" + body
    for length in (10, len(head) + 50, *[len(whole)] * 20):
        with socket.create_connection((host, int(port))) as client:
            client.sendall(whole[:length])
            # Closed with a reset, as when a process is killed.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0] + [0] * 4))
    assert predict(address, {"instances": ["a b"]})[0] == 200
    until(lambda: figure(address, "t2t_waiting_rows") == 0)
    # Nothing is computed for who has gone, but what was begun before.
    assert figure(address, rows) - before < 10 * 32
    assert figure(address, 't2t_requests_total{code="499",route="predict"}') >= 10


def test_a_slow_client_holds_nobody_and_is_told_so(backwards_export):
    with served(backwards_export, "--patience=1") as (_, address):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            head = (
                "POST /v1/models/backwards:predict HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n"
            )
            client.sendall(head.encode() + b"\r\n{")
            assert predict(address, {"instances": ["a b"]})[0] == 200
            client.settimeout(30)
            assert client.recv(100).startswith(b"HTTP/1.1 408 ")


def test_a_newer_version_is_taken_up_under_load_and_no_request_fails(tmp_path):
    export = tmp_path / "export"
    export.mkdir()
    write_version(export, 1, signatures=["serving_default"])
    (export / "5").mkdir()  # the newest, and no model at all
    with served(export, "--name=m") as (process, address):
        assert states(address) == {"5": "END", "1": "AVAILABLE"}
        (export / "5").rmdir()
        path, done, seen = "v1/models/m:predict", [], [[] for _ in range(4)]

        def client(number):
            while not done:
                status, answer = predict(address, {"inputs": [f"{number} a", "b c"]}, path)
                assert status == 200, answer
                marks = {text.partition(" ")[0] for text in answer["outputs"]["translations"]}
                assert len(marks) == 1  # one request is answered by one version
                seen[number] += marks - set(seen[number][-1:])
                time.sleep(0.02)

        with concurrent.futures.ThreadPoolExecutor(4) as clients:
            asking = [clients.submit(client, number) for number in range(4)]
            try:
                (export / "9").mkdir()  # no model either: it stays out
                write_version(export, 2, signatures=["serving_default"])
                end = {"9": "END", "5": "END", "2": "AVAILABLE", "1": "END"}
                until(lambda: states(address) == end)
                until(lambda: seen == [["v1:", "v2:"]] * 4)
            finally:
                done.append(True)
            assert [each.result() for each in asking] == [None] * 4
        assert figure(address, "t2t_model_version") == 2
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/2:predict")[0] == 200
        assert predict(address, {"inputs": ["a"]}, "v1/models/m/versions/1:predict")[0] == 404
        # And back: the newest folder has gone.
        os.rename(export / "2", tmp_path / "withdrawn")
        until(
            lambda: (
                predict(address, {"inputs": ["a"]}, path)[1]["outputs"]["translations"] == ["v1: a"]
            )
        )
        assert "Version 9 stays out" in process.errors()


def states(address):
    found = get(address, "v1/models/m")[1]["model_version_status"]
    return {each["version"]: each["state"] for each in found}


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_hand_is_finished_when_the_server_is_stopped(backwards_export, number):
    with (
        served(backwards_export) as (process, address),
        concurrent.futures.ThreadPoolExecutor(2) as clients,
    ):
        slow = clients.submit(predict, address, {"instances": ["slow"] * 60})
        until(lambda: figure(address, "t2t_waiting_rows") == 60)
        stopped = clients.submit(process.stop, number)
        until(lambda: get(address, "healthz")[0] == 503)
        assert predict(address, {"instances": ["a"]})[0] == 503
        assert not slow.done()
        status, answer = slow.result()
        assert status == 200 and len(answer["predictions"]) == 60
        assert stopped.result() == 0
        assert "Traceback" not in process.errors()
        with pytest.raises(urllib.error.URLError):
            get(address, "healthz")


def test_health_and_metrics(address):
    assert get(address, "healthz") == (200, "ok\n")
    name = 't2t_requests_total{code="404",route="predict"}'
    before = figure(address, name)
    predict(address, {"instances": ["a"]}, "v1/models/none:predict")
    assert figure(address, name) == before + 1
    assert figure(address, "t2t_model_version") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run's folder. Received: none"),
        (["no-such-run"], "there is no folder no-such-run"),
        (["."], "t2t-export . makes one"),
        (["EXPORT", "--name=a/b"], "a name without / and :"),
        (["EXPORT", "--batch=0"], "`batch` must be a whole number of at least 1"),
        (["EXPORT", "--port=TAKEN"], "Address already in use. --port=0 takes a free port"),
        (["BROKEN", "--port=0"], "is no model that can be served"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(
    arguments, message, backwards_export, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken" / "1").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        places = {
            "EXPORT": str(backwards_export),
            "BROKEN": "broken",
            "--port=TAKEN": f"--port={port}",
        }
        result = command("serve", *(places.get(each, each) for each in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
