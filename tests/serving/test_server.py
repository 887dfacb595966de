"""A running server: many clients, wrong requests, and killed clients."""

import concurrent.futures
import gzip
import socket

import pytest
from support.serving.in_process_server import serving
from support.serving.served_engine import EchoEngine
from support.serving.serving_client import get, metric, post, predict, until


@pytest.fixture(scope="module")
def address():
    with serving(backwards=EchoEngine(seconds=0.005)) as address:
        yield address


def test_requests_on_many_connections_share_batches_and_get_their_own_answers(address):
    def ask(index):
        texts = [f"{index} {row} of {'a ' * (index % 40)}end" for row in range(index % 4 + 1)]
        if index % 5 == 3:
            answer = predict(address, {"signature_name": "translate_n_best", "inputs": texts})[1]
            found = [best for best, *_ in answer["outputs"]["translations"]]
        else:
            answer = predict(address, {"instances": texts})[1]
            found = [row["translations"] for row in answer["predictions"]]
        assert found == texts

    batches = 't2t_batch_rows_count{signature="search"}'
    before = metric(address, batches)
    with concurrent.futures.ThreadPoolExecutor(20) as clients:
        assert len([*clients.map(ask, range(200))]) == 200
    assert metric(address, batches) - before < 150, "200 requests share batches"
    assert metric(address, "t2t_waiting_rows") == 0


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (
            {"signature_name": "align", "inputs": {"text": ["x" * 4001], "translation": [""]}},
            413,
            "has 4,001 bytes; at most 4,000 are allowed (--max_text_bytes",
        ),
        (b"x" * 1_000_001, 413, "at most 1,000,000 bytes"),
        ({"instances": ["this will fail"]}, 500, "The server failed to answer this request"),
    ],
)
def test_wrong_requests_are_refused_with_a_reason_and_the_server_lives(
    address, body, status, message
):
    received, answer = predict(address, body)
    assert (received, *answer) == (status, "error")
    assert message in answer["error"]
    assert status != 500 or answer["error"] == message, "nothing of the server is shown"
    assert predict(address, {"instances": ["a b"]})[0] == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "message"),
    [
        ("GET", "v1/models/forwards", 404, "Unknown model 'forwards'. Available: 'backwards'"),
        ("GET", "v1/models/backwards/versions/7", 404, "version 7"),
        ("POST", "v1/models/backwards/versions/7:predict", 404, "not loaded. Available: 1"),
        ("POST", "v1/models/backwards:regress", 404, "Malformed request"),
        ("GET", "v1/models/backwards:predict", 405, "Malformed request: GET"),
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
    assert predict(address, gzip.compress(b'{"instances": ["a"]}'), **encoded)[0] == 200
    assert predict(address, b"junk", **encoded)[0] == 400
    assert predict(address, gzip.compress(b" " * 2_000_000), **encoded)[0] == 413


def test_status_metadata_health_and_metrics(address):
    status = {"error_code": "OK", "error_message": ""}
    state = {"version": "1", "state": "AVAILABLE", "status": status}
    for path in ("v1/models/backwards", "v1/models/backwards/versions/1"):
        assert get(address, path) == (200, {"model_version_status": [state]})
    answer = get(address, "v1/models/backwards/metadata")[1]
    assert answer["model_spec"] == {"name": "backwards", "signature_name": "", "version": "1"}
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert {"serving_default", "translate_n_best", "score", "attention"} <= set(signatures)
    assert get(address, "healthz") == (200, "ok\n")
    name = 't2t_requests_total{code="404",route="predict"}'
    before = metric(address, name)
    predict(address, {"instances": ["a"]}, "v1/models/none:predict")
    assert metric(address, name) == before + 1
    assert metric(address, 't2t_model_version{model="backwards"}') == 1


def connect(address):
    host, port = address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)))


def test_nothing_is_computed_for_clients_that_were_killed():
    engine = EchoEngine()
    engine.may_go_on.clear()
    with serving(m=engine, limits={"max_batch_rows": 1, "workers": 1}) as address:
        request = post({"instances": ["a"] * 20}, "/v1/models/m:predict")
        for length in (10, len(request) - 5, len(request)):
            with connect(address) as client:
                client.sendall(request[:length])
                if length == len(request):
                    until(lambda: engine.calls)
                # Close with a reset, as the kernel does when a process is killed.
                linger = bytes([1, 0, 0, 0] + [0] * 4)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        until(lambda: metric(address, "t2t_waiting_rows") == 0)
        until(lambda: metric(address, 't2t_requests_total{code="499",route="predict"}') > 0)
        engine.may_go_on.set()
        assert predict(address, {"instances": ["b"]}, "v1/models/m:predict")[0] == 200
    assert len(engine.calls) <= 3, "only batches that had begun are computed"
