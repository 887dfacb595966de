"""Request bodies are parsed and checked, and answers have the form of their request."""

import json

import numpy as np
import pytest

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


def test_rows_may_leave_out_inputs_with_defaults():
    specs = {"beam": Spec("int32", (None,), 4), "prefix": Spec("string", (None,), "ä"), **TEXT}
    rows = [{"text": "a"}, {"text": "b", "beam": 2}]
    expected = {"text": [b"a", b"b"], "beam": [4, 2], "prefix": ["ä".encode()] * 2}
    assert inputs({"instances": rows}, specs) == expected
    assert inputs({"inputs": {"text": ["a", "b"], "beam": [4, 2]}}, specs) == expected
    assert inputs({"instances": ["a", "b"]}, specs) == expected | {"beam": [4, 4]}
    with pytest.raises(Refusal, match=r"Row 0 lacks text\. The inputs are: beam, prefix, text"):
        inputs({"instances": [{"beam": 2}]}, specs)
    with pytest.raises(Refusal, match="Received: beam 1, text 2"):
        inputs({"inputs": {"text": ["a", "b"], "beam": [4]}}, specs)
    with pytest.raises(Refusal, match="Row 0 lacks beam"):
        inputs({"instances": [{}]}, {"beam": specs["beam"]})


def test_the_default_signature_is_serving_default():
    assert query_of(b'{"inputs": []}') == Query("serving_default", "inputs", [])
    assert query_of(b'{"inputs": [], "signature_name": ""}').signature == "serving_default"
    assert query_of(b'{"inputs": [], "signature_name": "score"}').signature == "score"


def test_answers_are_rows_for_rows_and_columns_for_columns():
    outputs = {"text": np.array([b"a", b"b"], object), "score": np.array([1.0, 2.0])}
    rows = [{"text": "a", "score": 1.0}, {"text": "b", "score": 2.0}]
    assert json.loads(answer_of("instances", outputs)) == {"predictions": rows}
    columns = {"text": ["a", "b"], "score": [1.0, 2.0]}
    assert json.loads(answer_of("inputs", outputs)) == {"outputs": columns}


def test_a_single_output_has_no_name_in_the_answer():
    outputs = {"score": np.array([1.0, 2.0])}
    assert json.loads(answer_of("instances", outputs)) == {"predictions": [1.0, 2.0]}
    assert json.loads(answer_of("inputs", outputs)) == {"outputs": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON parse error: Expecting value at offset 0"),
        (b'{"instances": ["a"', "JSON parse error"),
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
        ({"instances": [{}]}, "Row 0 lacks text"),
    ],
)
def test_malformed_requests_are_refused_with_a_reason(body, message):
    with pytest.raises(Refusal) as error:
        inputs(body)
    assert error.value.status == 400
    assert message in error.value.message


def test_inputs_with_different_numbers_of_rows_are_refused():
    with pytest.raises(Refusal, match=r"same number of rows\. Received: source 2, target 1"):
        inputs({"inputs": {"source": ["a", "b"], "target": ["c"]}}, PAIR)
