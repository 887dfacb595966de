"""Request bodies are parsed and checked, and answers have the form of their request."""

import json

import numpy as np
import pytest

from t2t_keras.serving import rest
from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.rest import Query, answer_of, inputs_of, query_of
from t2t_keras.serving.tensors import Spec

STRINGS = Spec("string", (None,))
TEXT = {"text": STRINGS}
PAIR = {"source": STRINGS, "target": STRINGS}


def inputs(request, specs=TEXT):
    body = request if isinstance(request, bytes) else json.dumps(request).encode()
    arrays = inputs_of(query_of(body), specs, Limits(max_rows_in_flight=8), (100, "max_text_bytes"))
    return {name: array.tolist() for name, array in arrays.items()}


@pytest.mark.parametrize(
    "request_body",
    [
        {"instances": [{"text": "a b"}, {"text": "c"}]},
        {"inputs": {"text": ["a b", "c"]}},
        {"instances": ["a b", "c"]},
        {"inputs": ["a b", "c"]},
        {"instances": [{"b64": "YSBi"}, "c"]},
    ],
)
def test_rows_and_columns_are_equivalent_and_a_single_input_needs_no_name(request_body):
    assert inputs(request_body) == {"text": [b"a b", b"c"]}


def test_several_inputs_are_named_in_rows_or_columns():
    expected = {"source": [b"a", b"b"], "target": [b"c", b"d"]}
    rows = [{"source": "a", "target": "c"}, {"source": "b", "target": "d"}]
    assert inputs({"instances": rows}, PAIR) == expected
    assert inputs({"inputs": {"source": ["a", "b"], "target": ["c", "d"]}}, PAIR) == expected
    with pytest.raises(Refusal, match=r"same number of rows\. Received: source 2, target 1"):
        inputs({"inputs": {"source": ["a", "b"], "target": ["c"]}}, PAIR)


def test_rows_may_leave_out_inputs_with_defaults():
    specs = {"beam": Spec("int32", (None,), 4), "prefix": Spec("string", (None,), "ä"), **TEXT}
    rows = [{"text": "a"}, {"text": "b", "beam": 2}]
    expected = {"text": [b"a", b"b"], "beam": [4, 2], "prefix": ["ä".encode()] * 2}
    assert inputs({"instances": rows}, specs) == expected
    assert inputs({"inputs": {"text": ["a", "b"], "beam": [4, 2]}}, specs) == expected
    assert inputs({"instances": ["a", "b"]}, specs) == expected | {"beam": [4, 4]}
    with pytest.raises(Refusal, match=r"Row 0 lacks text\. The inputs are: beam, prefix, text"):
        inputs({"instances": [{"beam": 2}]}, specs)
    with pytest.raises(Refusal, match="Row 0 lacks beam"):
        inputs({"instances": [{}]}, {"beam": specs["beam"]})


def test_the_default_signature_is_serving_default():
    assert query_of(b'{"inputs": []}') == Query("serving_default", "inputs", [])
    assert query_of(b'{"inputs": [], "signature_name": ""}').signature == "serving_default"
    assert query_of(b'{"inputs": [], "signature_name": "score"}').signature == "score"


@pytest.mark.parametrize("piece", [rest.PIECE, 6, 3, 1])
def test_answers_are_rows_for_rows_and_columns_for_columns(piece, monkeypatch):
    """In whatever pieces they are converted to JSON."""
    monkeypatch.setattr(rest, "PIECE", piece)
    texts, weights = [["a", "b"], ["c", "d"], ["e", "é"]], [[[1.0, 2.0]], [[3.0, 4.5]], [[5, None]]]
    outputs = {
        "text": np.array([[text.encode() for text in row] for row in texts], object),
        "weights": np.array(weights, "float32"),
    }
    rows = [{"text": t, "weights": w} for t, w in zip(texts, weights, strict=True)]
    assert json.loads(answer_of("instances", outputs)) == {"predictions": rows}
    columns = {"text": texts, "weights": weights}
    assert json.loads(answer_of("inputs", outputs)) == {"outputs": columns}
    del outputs["text"]
    assert json.loads(answer_of("instances", outputs)) == {"predictions": weights}
    assert json.loads(answer_of("inputs", outputs)) == {"outputs": weights}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"instances": ["a"', "JSON parse error: Expecting ',' delimiter at offset 18"),
        (b'{"instances": ["\xff"]}', "not UTF-8 (byte 16)"),
        (b"[" * 100_000, "nested too deeply"),
        (b"9" * 5000, "too many digits"),
        ([], "must be a JSON object"),
        ({}, "Received: neither"),
        ({"instances": ["a"], "inputs": ["a"]}, "Received: both"),
        ({"signature_name": 3, "instances": ["a"]}, "'signature_name' must be a string"),
        ({"instances": []}, "must be a list of one row or more"),
        ({"instances": "a"}, "must be a list of one row or more"),
        ({"inputs": []}, "'text' is empty"),
        ({"instances": [{"text": "a"}, "b"]}, "Row 1 must be an object with the inputs: text"),
        ({"instances": [{"txet": "a"}]}, "unknown input 'txet' (did you mean 'text'?)"),
        ({"instances": [{"text": "a", "n_best": 3}]}, '"signature_name": "translate_with_options"'),
    ],
)
def test_malformed_requests_are_refused_with_a_reason(body, message):
    with pytest.raises(Refusal) as error:
        inputs(body)
    assert error.value.status == 400
    assert message in error.value.message
