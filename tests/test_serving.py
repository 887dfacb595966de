"""The server: requests of many clients, nonsense, new versions, the end."""

import asyncio
import concurrent.futures
import contextlib
import gzip
import json
import os
import re
import signal
import socket
import time
import urllib.error
import urllib.request

import aiohttp
import numpy as np
import pytest
from commands import command, running
from served_model import N_BEST, write_version

from t2t_keras.serving.tensors import values_of

TOO_LONG = "x" * 5000


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    """The export folder of a run named "backwards", with version 1."""
    folder = tmp_path_factory.mktemp("runs") / "backwards" / "export"
    folder.mkdir(parents=True)
    write_version(folder, 1)
    return folder


@contextlib.contextmanager
def served(folder, *flags):
    """A server of a folder, and its address."""
    with running("serve", folder, "--port=0", *flags) as process:
        yield process, re.search(r"http://[^/]+", process.line()).group()


@pytest.fixture(scope="module")
def address(export):
    with served(export.parent) as (process, address):
        yield address
        assert process.stop() == 0


def predict(address, body, path="v1/models/backwards:predict", **headers):
    """Status and answer; `body` is what JSON makes of it, or bytes as they are."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return opened(urllib.request.Request(f"{address}/{path}", body, headers))


def get(address, path, method="GET"):
    return opened(urllib.request.Request(f"{address}/{path}", method=method))


def opened(request):
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            text = response.read().decode()
            is_json = response.headers.get_content_type() == "application/json"
            return response.status, json.loads(text, parse_constant=not_json) if is_json else text
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())


def not_json(word):
    raise AssertionError(f"{word} is not JSON")


def backwards(text, mark="v1:"):
    return " ".join([mark, *reversed(text.split())])


def figure(address, name):
    found = re.search(rf"^{re.escape(name)} (\S+)$", get(address, "metrics")[1], re.M)
    return float(found.group(1)) if found else 0.0


def test_a_thousand_requests_of_fifty_connections_all_get_their_own_answers(address):
    requests = iter(range(1000))
    answered = set()

    async def client(session):
        for number in requests:
            texts = [
                f"{number} {row} of {'a ' * (number % 40)}end" for row in range(number % 4 + 1)
            ]
            url = f"{address}/v1/models/backwards:predict"
            if number % 10 == 3:
                question = {"signature_name": "translate_n_best", "inputs": texts}
                expected = [[backwards(t) + mark for mark in ("", "!", "?", " …")] for t in texts]
            elif number % 10 == 7:
                rows = [{"source": text, "target": str(number)} for text in texts]
                question = {"signature_name": "score", "instances": rows}
                expected = [-float(len(text) + len(str(number))) for text in texts]
            else:
                question = {"instances": texts}
                expected = [backwards(text) for text in texts]
            async with session.post(url, json=question) as response:
                answer = await response.json()
                assert response.status == 200, answer
            if number % 10 == 3:
                found = answer["outputs"]["translations"]
            elif number % 10 == 7:
                found = answer["predictions"]
            else:
                found = [row["translations"] for row in answer["predictions"]]
            assert found == expected
            answered.add(number)

    async def all_clients():
        connector = aiohttp.TCPConnector(limit=50)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(client(session) for _ in range(50)))

    batches = 't2t_batch_rows_count{signature="serving_default"}'
    before = figure(address, batches)
    asyncio.run(all_clients())
    assert answered == set(range(1000))
    assert figure(address, batches) - before < 400  # of 800 requests: they went together
    assert figure(address, "t2t_waiting_rows") == 0


def test_rows_and_columns_are_answered_in_kind(address):
    rows = predict(address, {"instances": [{"text": "a b"}, {"text": "c"}]})
    columns = predict(address, {"inputs": {"text": ["a b", "c"]}})
    translations, scores = ["v1: b a", "v1: c"], [-0.1, -0.1]
    assert columns == (200, {"outputs": {"translations": translations, "scores": scores}})
    found = zip(translations, scores, strict=True)
    expected = [{"translations": text, "scores": score} for text, score in found]
    assert rows == (200, {"predictions": expected})
    # A single input or output needs no name.
    assert predict(address, {"instances": ["a b", "c"]}) == rows
    assert predict(address, {"inputs": ["a b", "c"]}) == columns
    pair = {"source": ["a"], "target": ["bc"]}
    assert predict(address, {"signature_name": "score", "inputs": pair})[1] == {"outputs": [-3.0]}


def test_more_rows_than_a_batch_holds_come_back_in_their_order(address):
    texts = [f"{n} {'b' * (n * 37 % 400)}" for n in range(200)]
    status, answer = predict(address, {"inputs": texts})
    assert status == 200
    assert answer["outputs"]["translations"] == [backwards(text) for text in texts]


def test_bytes_that_are_no_utf8_are_taken_as_base64(address):
    status, answer = predict(address, {"instances": [{"b64": "/2EgYg=="}]})
    assert (status, answer["predictions"][0]["translations"]) == (200, "v1: b \ufffda")


def test_what_is_no_number_is_null(address):
    _, answer = predict(address, {"inputs": ["nan", "number"]})
    assert answer["outputs"]["scores"] == [None, -0.1]
    values = np.array([[np.inf, 1], [-np.inf, np.nan]], "float32")
    assert values_of("scores", values) == [[None, 1.0], [None, None]]
    assert values_of("x_bytes", np.array([b"\xff"], object)) == [{"b64": "/w=="}]


def test_attention_is_as_long_as_its_own_text_whoever_asks_beside(address):
    def ask(words):
        question = {"text": "a " * words, "translation": "b"}
        body = {"signature_name": "attention", "instances": [question]}
        return predict(address, body)[1]["predictions"][0]

    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        for words, found in zip(range(1, 9), clients.map(ask, range(1, 9)), strict=True):
            assert found["source_pieces"] == ["▁a"] * words + ["</s>"]
            assert np.shape(found["cross"])[-2:] == (2, words + 1)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "JSON parse error: Expecting value at offset 0"),
        (b'{"instances": ["a"', 400, "JSON parse error"),
        (b'{"instances": ["\xff"]}', 400, "no UTF-8 (byte 16)"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b"9" * 5000, 400, "too many digits"),
        ([], 400, "must be a JSON object"),
        ({}, 400, "neither is there"),
        ({"instances": ["a"], "inputs": ["a"]}, 400, "both are there"),
        ({"instances": []}, 400, "one row or more"),
        ({"inputs": []}, 400, "'text' is empty"),
        ({"instances": "a"}, 400, "must be a list"),
        ({"inputs": "a"}, 400, "must have the shape [any]. Received: one of shape []"),
        ({"instances": [3]}, 400, "must be a string, or"),
        ({"instances": [None]}, 400, "Received: null"),
        ({"instances": [["a"]]}, 400, "Received: one of shape [1, 1]"),
        ({"instances": ["a", ["b"]]}, 400, "a list stands beside single values"),
        ({"instances": [{"text": "a"}, "b"]}, 400, "Row 1 must be an object with the inputs: text"),
        ({"instances": [{"txet": "a"}]}, 400, "Row 0 has no input 'txet' (did you mean 'text'?)"),
        ({"instances": [{}]}, 400, "Row 0 lacks text"),
        ({"instances": [{"b64": "%"}]}, 400, "no base64"),
        (b'{"instances": ["\\ud800"]}', 400, "half of a surrogate pair"),
        ({"signature_name": 3, "instances": ["a"]}, 400, "must be a string"),
        ({"signature_name": "scroe", "instances": ["a"]}, 404, "'scroe' not found"),
        (
            {"signature_name": "score", "inputs": {"source": ["a", "b"], "target": ["c"]}},
            400,
            "as many rows. Received: source 2, target 1",
        ),
        ({"instances": [TOO_LONG]}, 413, "has 5,000 bytes; at most 4,000 are taken"),
        (
            {
                "signature_name": "attention",
                "instances": [{"text": TOO_LONG[:501], "translation": "b"}],
            },
            413,
            "has 501 bytes; at most 500",
        ),
        ({"instances": ["a"] * 1001}, 413, "has 1,001 rows; at most 1,000"),
        (b"x" * 1_000_001, 413, "1,000,000 bytes"),
        ({"instances": ["refuse"]}, 400, "The model does not take this input: this it will not do"),
        ({"instances": ["this will fail"]}, 500, "The server could not answer this request"),
    ],
)
def test_nonsense_is_refused_with_a_reason_and_the_server_lives(address, body, status, message):
    found, answer = predict(address, body)
    assert found == status
    assert list(answer) == ["error"]
    assert message in answer["error"]
    assert not re.search(r"Traceback|\.py|/|Error", answer["error"].replace(message, ""))
    assert predict(address, {"instances": ["a b"]})[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "v1/models/forwards", 404, "no model 'forwards'. There is: 'backwards'"),
        ("GET", "v1/models/backwards/versions/7", 404, "version 7"),
        ("GET", "v1/models/backwards/versions/7/metadata", 404, "no version 7"),
        ("POST", "v1/models/backwards/versions/7:predict", 404, "no version 7 that answers"),
        ("POST", "v1/models/forwards:predict", 404, "no model 'forwards'"),
        ("POST", "v1/models/backwards:regress", 400, "'regress' is not offered"),
        ("POST", "v1/models/backwards:explain", 404, "Malformed request"),
        ("GET", "v1/models/backwards:predict", 405, "Malformed request: GET"),
        ("DELETE", "v1/models/backwards", 405, "Malformed request: DELETE"),
        ("GET", "%ff/../../etc/passwd", 404, "Malformed request"),
    ],
)
def test_wrong_addresses_and_methods_are_named(address, method, path, status, message):
    if method == "POST":
        found = predict(address, {"instances": ["a"]}, path)
    else:
        found = get(address, path, method)
    assert found[0] == status
    assert message in found[1]["error"]


def test_bodies_that_are_compressed_wrongly_or_too_much(address):
    encoded = {"Content-Encoding": "gzip"}
    good = gzip.compress(b'{"instances": ["a"]}')
    assert predict(address, good, **encoded)[0] == 200
    assert predict(address, b"junk", **encoded)[0] == 400
    assert predict(address, gzip.compress(b" " * 10_000_000), **encoded)[0] == 413


def test_one_row_that_fails_leaves_the_others_of_its_batch_alone(address):
    texts = ["fail" if number == 5 else f"{number} a" for number in range(12)]
    with concurrent.futures.ThreadPoolExecutor(12) as clients:
        found = list(clients.map(lambda text: predict(address, {"inputs": [text]}), texts))
    assert [status for status, _ in found] == [500 if text == "fail" else 200 for text in texts]
    assert found[7][1]["outputs"]["translations"] == ["v1: a 7"]


def test_status_and_metadata_are_those_of_tensorflow_serving(address):
    state = {
        "version": "1",
        "state": "AVAILABLE",
        "status": {"error_code": "OK", "error_message": ""},
    }
    for path in ("v1/models/backwards", "v1/models/backwards/versions/1"):
        assert get(address, path) == (200, {"model_version_status": [state]})
    status, found = get(address, "v1/models/backwards/metadata")
    assert status == 200
    assert found["model_spec"] == {"name": "backwards", "signature_name": "", "version": "1"}
    signatures = found["metadata"]["signature_def"]["signature_def"]
    assert {"serving_default", "translate_n_best", "score", "attention"} <= set(signatures)
    tensor = signatures["translate_n_best"]["outputs"]["scores"]
    sizes = [axis["size"] for axis in tensor["tensor_shape"]["dim"]]
    assert (tensor["dtype"], sizes) == ("DT_FLOAT", ["-1", str(N_BEST)])


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


def test_a_slow_client_holds_nobody_and_is_told_so(export):
    with served(export, "--patience=1") as (_, address):
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
def test_what_is_in_hand_is_finished_when_the_server_is_stopped(export, number):
    with served(export) as (process, address), concurrent.futures.ThreadPoolExecutor(2) as clients:
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
    arguments, message, export, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken" / "1").mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        places = {"EXPORT": str(export), "BROKEN": "broken", "--port=TAKEN": f"--port={port}"}
        result = command("serve", *(places.get(each, each) for each in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
