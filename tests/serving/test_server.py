"""What a server answers: many clients at once, every kind of request, nonsense."""

import asyncio
import concurrent.futures
import gzip
import re

import aiohttp
import numpy as np
import pytest
from served_model import N_BEST
from serving_client import backwards, figure, get, predict, served

from t2t_keras.serving.tensors import values_of

TOO_LONG = "x" * 5000


@pytest.fixture(scope="module")
def address(backwards_export):
    with served(backwards_export.parent) as (process, address):
        yield address
        assert process.stop() == 0


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
