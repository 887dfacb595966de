"""A running server: many clients, malformed requests, slow and killed clients, and its end."""

import asyncio
import concurrent.futures
import gzip
import json
import os
import re
import signal
import socket
import threading
import urllib.error

import aiohttp
import numpy as np
import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import backwards, get, metric, predict, served, until

from pipelines.text.sentences import split_sentences
from t2t_keras.translating import texts


@pytest.fixture(scope="module")
def address(backwards_export):
    with served(backwards_export.parent) as (process, address):
        yield address
        assert process.stop() == 0


@pytest.mark.long
def test_a_thousand_requests_on_fifty_connections_get_their_own_answers(address):
    requests = iter(range(1000))
    answered = set()

    async def client(session):
        for index in requests:
            texts = [f"{index} {row} of {'a ' * (index % 40)}end" for row in range(index % 4 + 1)]
            url = f"{address}/v1/models/backwards:predict"
            if index % 10 == 3:
                body = {"signature_name": "translate_n_best", "inputs": texts}
                expected = [[backwards(t) + mark for mark in ("", "!", "?", " …")] for t in texts]
            elif index % 10 == 7:
                rows = [{"source": text, "target": str(index)} for text in texts]
                body = {"signature_name": "score", "instances": rows}
                expected = [-float(len(text) + len(str(index))) for text in texts]
            else:
                body = {"instances": texts}
                expected = [backwards(text) for text in texts]
            async with session.post(url, json=body) as response:
                answer = await response.json()
                assert response.status == 200, answer
            if index % 10 == 3:
                received = answer["outputs"]["translations"]
            elif index % 10 == 7:
                received = answer["predictions"]
            else:
                received = [row["translations"] for row in answer["predictions"]]
            assert received == expected
            answered.add(index)

    async def all_clients():
        connector = aiohttp.TCPConnector(limit=50)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(client(session) for _ in range(50)))

    batches = 't2t_batch_rows_count{signature="serving_default"}'
    before = metric(address, batches)
    asyncio.run(all_clients())
    assert answered == set(range(1000))
    assert metric(address, batches) - before < 400, "800 requests share batches"
    assert metric(address, "t2t_waiting_rows") == 0


def test_rows_are_answered_as_rows_and_columns_as_columns(address):
    texts, translations, scores = ["a b", "nan"], ["v1: b a", "v1: nan"], [-0.1, None]
    columns = {"translations": translations, "scores": scores}
    assert predict(address, {"inputs": texts}) == (200, {"outputs": columns})
    pairs = zip(translations, scores, strict=True)
    rows = [{"translations": text, "scores": score} for text, score in pairs]
    assert predict(address, {"instances": texts}) == (200, {"predictions": rows})


def test_a_model_that_is_not_ours_gets_its_texts_and_options_as_they_are(address):
    text = "One two. Three four."
    assert predict(address, {"inputs": [text]})[1]["outputs"]["translations"] == [
        "v1: four. Three two. One"
    ]
    rows = [{"text": text, "prefix": "> ", "beam": 3, "n_best": 2}, {"text": "a", "alpha": 1}]
    body = {"signature_name": "translate_with_options", "instances": rows}
    found = [row["translations"] for row in predict(address, body)[1]["predictions"]]
    best = "> v1: four. Three two. One"
    assert found == [[best, f"{best}!", "", ""], ["v1: a", "", "", ""]]
    rows[1]["beam"] = 5
    message = "The model rejects this input: `beam` must be from 1 to 4"
    assert predict(address, body) == (400, {"error": message})


def test_a_model_with_an_engine_is_asked_over_http(monkeypatch):
    """Large texts do not hold up other requests, and errors of the engine are not shown."""
    started, finish = threading.Event(), threading.Event()

    def slow(text):
        started.set()
        assert finish.wait(30)
        return split_sentences(text)

    def asked(address, *rows):
        body = {"signature_name": "translate_with_options", "instances": list(rows)}
        return predict(address, body, "v1/models/m:predict")

    with serving(m=EchoEngine()) as address:
        answer = asked(address, {"text": "One dog. Two dogs.", "confidence": True})[1]
        assert answer["predictions"][0]["words"][0] == "One dog. Two dogs."
        assert metric(address, 't2t_batch_rows_sum{signature="search"}') == 2
        failed = asked(address, {"text": "a"}, {"text": "this will fail"})
        assert failed == (500, {"error": "The server failed to answer this request"})
        refused = asked(address, {"text": "a"}, {"text": "a", "markup": "pdf"})
        assert refused[0] == 400 and refused[1]["error"].startswith("Row 1: `markup` must be")
        monkeypatch.setattr(texts, "split_sentences", slow)
        with concurrent.futures.ThreadPoolExecutor(1) as clients:
            rows = [{"text": f"<b>{n}</b>", "markup": "html"} for n in range(200)]
            large = clients.submit(asked, address, *rows)
            assert started.wait(30)
            assert get(address, "healthz") == (200, "ok\n")
            assert asked(address, {"text": "a", "split": False})[0] == 200
            finish.set()
            status, answer = large.result()
        assert status == 200
        assert [row["translations"][0] for row in answer["predictions"]] == [
            row["text"] for row in rows
        ]
        assert metric(address, "t2t_waiting_rows") == 0


def test_attention_has_the_size_of_its_own_text_while_other_requests_run(address):
    def attention(words):
        row = {"text": "a " * words, "translation": "b"}
        body = {"signature_name": "attention", "instances": [row]}
        return predict(address, body)[1]["predictions"][0]

    with concurrent.futures.ThreadPoolExecutor(8) as clients:
        for words, answer in zip(range(1, 9), clients.map(attention, range(1, 9)), strict=True):
            assert answer["source_pieces"] == ["▁a"] * words + ["</s>"]
            assert np.shape(answer["cross"])[-2:] == (2, words + 1)


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "JSON parse error: Expecting value at offset 0"),
        ({"instances": [{"txet": "a"}]}, 400, "unknown input 'txet'"),
        ({"instances": [3]}, 400, "must be a string, or"),
        ({"signature_name": "scroe", "instances": ["a"]}, 404, "'scroe' not found"),
        ({"instances": ["x" * 5000]}, 413, "has 5,000 bytes; at most 4,000 are allowed"),
        (
            {"signature_name": "attention", "inputs": {"text": ["x" * 501], "translation": [""]}},
            413,
            "has 501 bytes; at most 500",
        ),
        ({"instances": ["a"] * 1001}, 413, "has 1,001 rows; at most 1,000"),
        (b"x" * 1_000_001, 413, "at most 1,000,000 bytes"),
        ({"instances": ["refuse"]}, 400, "The model rejects this input: not this word"),
        ({"instances": ["this will fail"]}, 500, "The server failed to answer this request"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason_and_the_server_lives(
    address, body, status, message
):
    received, answer = predict(address, body)
    assert received == status
    assert list(answer) == ["error"]
    assert message in answer["error"]
    assert not re.search(r"Traceback|\.py|/|Error", answer["error"].replace(message, ""))
    assert predict(address, {"instances": ["a b"]})[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "v1/models/forwards", 404, "Unknown model 'forwards'. Available: 'backwards'"),
        ("GET", "v1/models/backwards/versions/7", 404, "version 7"),
        ("GET", "v1/models/backwards/versions/7/metadata", 404, "Version 7"),
        ("POST", "v1/models/backwards/versions/7:predict", 404, "not loaded. Available: 1"),
        ("POST", "v1/models/forwards:predict", 404, "Unknown model 'forwards'"),
        ("POST", "v1/models/backwards:regress", 400, "'regress' is not supported"),
        ("POST", "v1/models/backwards:explain", 404, "Malformed request"),
        ("GET", "v1/models/backwards:predict", 405, "Malformed request: GET"),
        ("DELETE", "v1/models/backwards", 405, "Malformed request: DELETE"),
        ("GET", "%ff/../../etc/passwd", 404, "Malformed request"),
    ],
)
def test_wrong_paths_and_methods_are_refused_with_a_reason(address, method, path, status, message):
    if method == "POST":
        answer = predict(address, {"instances": ["a"]}, path)
    else:
        answer = get(address, path, method)
    assert answer[0] == status
    assert message in answer[1]["error"]


def test_compressed_bodies_are_limited_by_their_uncompressed_size(address):
    encoded = {"Content-Encoding": "gzip"}
    good = gzip.compress(b'{"instances": ["a"]}')
    assert predict(address, good, **encoded)[0] == 200
    assert predict(address, b"junk", **encoded)[0] == 400
    assert predict(address, gzip.compress(b" " * 10_000_000), **encoded)[0] == 413


def test_status_and_metadata_have_the_form_of_tensorflow_serving(address):
    state = {
        "version": "1",
        "state": "AVAILABLE",
        "status": {"error_code": "OK", "error_message": ""},
    }
    for path in ("v1/models/backwards", "v1/models/backwards/versions/1"):
        assert get(address, path) == (200, {"model_version_status": [state]})
    status, answer = get(address, "v1/models/backwards/metadata")
    assert status == 200
    assert answer["model_spec"] == {"name": "backwards", "signature_name": "", "version": "1"}
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert {"serving_default", "translate_n_best", "score", "attention"} <= set(signatures)


def test_health_and_metrics(address):
    assert get(address, "healthz") == (200, "ok\n")
    name = 't2t_requests_total{code="404",route="predict"}'
    before = metric(address, name)
    predict(address, {"instances": ["a"]}, "v1/models/none:predict")
    assert metric(address, name) == before + 1
    assert metric(address, 't2t_model_version{model="backwards"}') == 1


def connect(address):
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)))


def post(body):
    """Returns the bytes of a request for predictions."""
    path = "/v1/models/backwards:predict"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_a_thousand_rows_of_one_request_lock_nobody_out(address):
    with connect(address) as client:
        client.sendall(post(json.dumps({"instances": ["slow"] * 1000}).encode()))
        until(lambda: metric(address, "t2t_waiting_rows") == 1000)
        assert predict(address, {"inputs": ["a b"]})[0] == 200
        assert metric(address, "t2t_waiting_rows") == 1000
    until(lambda: metric(address, "t2t_waiting_rows") == 0)


@pytest.mark.parametrize(
    ("headers", "status"), [({"Host": "evil.com"}, 421), ({"Origin": "http://evil.com"}, 403)]
)
def test_pages_of_other_sites_are_refused(address, headers, status):
    code, answer = predict(address, {"inputs": ["a"]}, **headers)
    assert code == status
    assert "--allowed_hosts" in answer["error"]


def test_nothing_is_computed_for_clients_that_were_killed(address):
    rows = 't2t_batch_rows_sum{signature="serving_default"}'
    before = metric(address, rows)
    body = json.dumps({"instances": ["slow " * 20] * 32}).encode()
    request = post(body)
    for length in (10, len(request) - 200, *[len(request)] * 20):
        with connect(address) as client:
            client.sendall(request[:length])
            # Close with a reset, as the kernel does when a process is killed.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, bytes([1, 0, 0, 0] + [0] * 4))
    assert predict(address, {"instances": ["a b"]})[0] == 200
    until(lambda: metric(address, "t2t_waiting_rows") == 0)
    assert metric(address, rows) - before < 10 * 32, "only batches that had begun are computed"
    assert metric(address, 't2t_requests_total{code="499",route="predict"}') >= 10


@pytest.mark.long
def test_slow_clients_time_out_and_a_second_signal_ends_the_server_at_once(backwards_export):
    with served(backwards_export, "--client_timeout_seconds=1") as (process, address):
        with connect(address) as client:
            client.sendall(post(b"{}")[:-1])
            assert predict(address, {"instances": ["a b"]})[0] == 200, "others are not held up"
            client.settimeout(30)
            assert client.recv(100).startswith(b"HTTP/1.1 408 ")
        with concurrent.futures.ThreadPoolExecutor(1) as clients:
            slow = clients.submit(predict, address, {"instances": ["slow"] * 500})
            until(lambda: metric(address, "t2t_waiting_rows") == 500)
            os.kill(process.pid, signal.SIGTERM)
            until(lambda: get(address, "healthz")[0] == 503)
            assert process.stop(signal.SIGTERM) == 128 + signal.SIGTERM
            with pytest.raises((urllib.error.URLError, ConnectionError)):
                slow.result()


@pytest.mark.long
def test_requests_in_flight_are_answered_when_the_server_stops(backwards_export):
    with (
        served(backwards_export) as (process, address),
        concurrent.futures.ThreadPoolExecutor(2) as clients,
    ):
        slow = clients.submit(predict, address, {"instances": ["slow"] * 60})
        until(lambda: metric(address, "t2t_waiting_rows") == 60)
        stopped = clients.submit(process.stop, signal.SIGINT)
        until(lambda: get(address, "healthz")[0] == 503)
        assert predict(address, {"instances": ["a"]})[0] == 503
        assert not slow.done()
        status, answer = slow.result()
        assert status == 200 and len(answer["predictions"]) == 60
        assert stopped.result() == 0
        assert "Traceback" not in process.errors()
        with pytest.raises(urllib.error.URLError):
            get(address, "healthz")
