"""JSON values become arrays and arrays become JSON values."""

import numpy as np
import pytest

from t2t_keras.serving.limits import Limits, Refusal
from t2t_keras.serving.tensors import Spec, array_of, values_of

TEXTS = Spec("string", (None,))


def array(values, spec=TEXTS, longest=10):
    limits = Limits(max_rows_in_flight=8, max_row_values=4)
    return array_of("x", values, spec, limits, (longest, "max_text_bytes"))


def test_strings_become_bytes_and_base64_with_or_without_padding_is_decoded():
    assert array(["a", "ü", {"b64": "/2EgYg=="}]).tolist() == [b"a", "ü".encode(), b"\xffa b"]
    assert array([{"b64": "/2EgYg"}, "x" * 10]).tolist() == [b"\xffa b", b"x" * 10]


@pytest.mark.parametrize(
    ("values", "dtype"),
    [([[1, 2], [3, 4]], "int32"), ([[1, 2.5]], "float32"), ([[True], [False]], "bool")],
)
def test_nested_lists_become_arrays(values, dtype):
    found = array(values, Spec(dtype, (None, None)))
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("values", "spec", "status", "message"),
    [
        ([], TEXTS, 400, "Input 'x' is empty"),
        ([[]], Spec("int32", (None, None)), 400, "Input 'x' is empty"),
        ("a", TEXTS, 400, "must have the shape [any]. Received: shape []"),
        ([["a"]], TEXTS, 400, "Received: shape [1, 1]"),
        ([[1]], Spec("int32", (None, 2)), 400, "must have the shape [any, 2]"),
        (["a", ["b"]], TEXTS, 400, "mixes lists and single values"),
        ([[1], [2, 3]], Spec("int32", (None, None)), 400, "length, 1. Received: a list of 2"),
        ([[1], 2], Spec("int32", (None, None)), 400, "Received: a number"),
        ([3], TEXTS, 400, "must be a string, or"),
        ([None], TEXTS, 400, "Received: null"),
        ([True], Spec("int32", (None,)), 400, "must be int32. Received: a boolean"),
        ([1.5], Spec("int32", (None,)), 400, "must be int32. Received: a number"),
        (["1"], Spec("float32", (None,)), 400, "must be float32. Received: a string"),
        ([2**31], Spec("int32", (None,)), 400, "out of range for int32"),
        ([10**400], Spec("float32", (None,)), 400, "out of range for float32"),
        ([1], Spec("bool", (None,)), 400, "must be bool"),
        ([{"b64": "%"}], TEXTS, 400, "not valid base64"),
        (["\ud800"], TEXTS, 400, "unpaired surrogate"),
        (["x" * 11], TEXTS, 413, "has 11 bytes; at most 10 are allowed (--max_text_bytes"),
        (["x"] * 5, TEXTS, 413, "has 5 rows; at most 4 are allowed"),
        ([[1] * 5], Spec("int32", (None, None)), 413, "has 5 values; at most 4 are allowed"),
        ([[["x"] * 3] * 2], Spec("string", (None, None, None)), 413, "has 6 values; at most 4"),
    ],
)
def test_wrong_values_are_refused_with_a_reason(values, spec, status, message):
    with pytest.raises(Refusal) as error:
        array(values, spec)
    assert error.value.status == status
    assert message in error.value.message


def test_floats_have_the_fewest_digits_that_identify_them_and_nan_and_infinities_are_null():
    values = np.array([[np.inf, 0.1], [-np.inf, np.nan]], "float32")
    assert values_of("scores", values) == [[None, 0.1], [None, None]]
    assert values_of("scores", np.array([0.1, -3.0], "float32")) == [0.1, -3.0]
    assert values_of("counts", np.array([True, False])) == [True, False]


def test_bytes_become_text_or_base64_by_the_name_of_the_output():
    values = np.array([b"a\xff"], object)
    assert values_of("x", values) == ["a\ufffd"]
    assert values_of("x_bytes", values) == [{"b64": "Yf8="}]
