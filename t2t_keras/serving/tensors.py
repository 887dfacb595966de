"""Conversion between JSON values and arrays, as in TensorFlow Serving."""

import base64
import binascii
import math
from typing import Any, NamedTuple

import numpy as np

from t2t_keras.serving.limits import Refusal

JSON_TYPES = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    type(None): "null",
}
BASE64 = "b64"
BINARY = "_bytes"  # suffix of the names of outputs with binary strings, written as base64


class Spec(NamedTuple):
    """The type and shape of a tensor in a signature."""

    dtype: str  # "string", "float32", "int32", "bool", …
    shape: tuple  # None for an axis of any size; the first axis counts the rows
    default: Any = None  # JSON value for rows that omit the input; None: required
    longest: int | None = None  # maximum bytes of a string; None: the server's limit


def array_of(name, values, spec, limits, longest):
    """Converts nested lists from JSON to an array.

    Args:
        name: name of the input, for error messages.
        values: the nested lists.
        spec: the required `Spec`.
        limits: `Limits`.
        longest: maximum bytes of a string, unless the spec has one, and the flag that sets it.

    Returns:
        A NumPy array. Strings become an object array of bytes.
    """
    shape, inner = [], values
    while isinstance(inner, list):
        shape.append(len(inner))
        if len(shape) > len(spec.shape) or not inner:
            break
        inner = inner[0]
    if 0 in shape:
        raise Refusal(400, f"Input {name!r} is empty. Send one row or more")
    sizes = zip(spec.shape, shape, strict=False)
    if len(shape) != len(spec.shape) or any(size not in (None, given) for size, given in sizes):
        raise Refusal(
            400,
            f"Input {name!r} must have the shape {shape_text(spec.shape)}. "
            f"Received: shape {shape_text(shape)}",
        )
    check_rows(values, limits)
    check_row(name, shape[1:], limits)
    leaves = []
    collect_leaves(name, values, shape, leaves)
    longest = (spec.longest, "max_body_bytes") if spec.longest else longest
    converted = [leaf_of(name, leaf, spec.dtype, longest) for leaf in leaves]
    array = np.empty(len(converted), object if spec.dtype == "string" else spec.dtype)
    array[:] = converted
    return array.reshape(shape)


def filled(spec, rows):
    """Returns the array of an input that all rows omit."""
    if spec.dtype == "string":
        return np.full(rows, spec.default.encode(), object)
    return np.full(rows, spec.default, spec.dtype)


def check_rows(rows, limits):
    if len(rows) > limits.rows:
        raise Refusal(
            413, f"The request has {len(rows):,} rows; at most {limits.rows:,} are allowed"
        )


def check_row(name, shape, limits):
    values = math.prod(shape)
    if values > limits.max_row_values:
        raise Refusal(
            413,
            f"Input {name!r}: a row has {values:,} values; at most {limits.max_row_values:,} are "
            "allowed. Send shorter rows",
        )


def shape_text(shape):
    """Formats a shape for error messages.

    >>> shape_text((None, 3))
    '[any, 3]'
    """
    return f"[{', '.join('any' if size is None else str(size) for size in shape)}]"


def collect_leaves(name, values, shape, leaves):
    """Appends the values in nested lists to `leaves` and checks that the lists have `shape`."""
    if not shape:
        if isinstance(values, list):
            raise Refusal(400, f"Input {name!r} mixes lists and single values at the same depth")
        leaves.append(values)
        return
    if not isinstance(values, list) or len(values) != shape[0]:
        received = f"a list of {len(values)}" if isinstance(values, list) else type_of(values)
        raise Refusal(
            400,
            f"Input {name!r}: all lists at the same depth must have the same length, {shape[0]}. "
            f"Received: {received}",
        )
    for value in values:
        collect_leaves(name, value, shape[1:], leaves)


def leaf_of(name, value, dtype, longest):
    """Checks a single value and converts it to the dtype."""
    if dtype == "string":
        return bytes_of(name, value, longest)
    kind = np.dtype(dtype).kind
    is_bool = isinstance(value, bool)
    if kind == "b":
        valid = is_bool
    elif kind == "f":
        valid = isinstance(value, int | float) and not is_bool
    else:
        valid = isinstance(value, int) and not is_bool
    if not valid:
        raise wrong_type(name, value, dtype)
    if kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
        raise out_of_range(name, dtype)
    if kind == "f" and float(np.finfo(dtype).max) < abs(value) < math.inf:
        raise out_of_range(name, dtype)
    return float(value) if kind == "f" else value


def out_of_range(name, dtype):
    return Refusal(400, f"Input {name!r}: a number is out of range for {dtype}")


def bytes_of(name, value, longest):
    if isinstance(value, dict) and set(value) == {BASE64} and isinstance(value[BASE64], str):
        try:
            text = base64.b64decode(value[BASE64] + "=" * (-len(value[BASE64]) % 4), validate=True)
        except (binascii.Error, ValueError):
            raise Refusal(
                400, f"Input {name!r}: the value of {BASE64!r} is not valid base64"
            ) from None
    elif isinstance(value, str):
        check_unicode(name, value)
        text = value.encode()
    else:
        raise wrong_type(name, value, 'a string, or {"b64": "…"} for bytes')
    most, flag = longest
    if len(text) > most:
        raise Refusal(
            413,
            f"Input {name!r}: a text has {len(text):,} bytes; at most {most:,} are allowed "
            f"(--{flag} of the server)",
        )
    return text


def check_unicode(name, text):
    """Rejects a string that cannot be encoded in UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refusal(
            400, f"Input {name!r}: a string contains an unpaired surrogate, which is not text"
        ) from None


def wrong_type(name, value, required):
    return Refusal(
        400, f"Input {name!r}: each value must be {required}. Received: {type_of(value)}"
    )


def type_of(value):
    return JSON_TYPES.get(type(value), "a number")


def values_of(name, array):
    """Converts an output to nested lists for JSON, with None for NaN and infinities.

    TensorFlow Serving writes NaN and Infinity, which are not JSON: strict parsers reject the
    whole answer. Like TensorFlow Serving, this writes a float32 with the fewest digits that
    identify it.
    """
    if array.dtype == object:
        return text_values(array.tolist(), name.endswith(BINARY))
    if array.dtype.kind in "biu":
        return array.tolist()
    if array.dtype != np.float64:
        array = array.astype(np.float32).astype("U16").astype(np.float64)
    if np.isfinite(array).all():
        return array.tolist()
    return np.where(np.isfinite(array), array.astype(object), None).tolist()


def text_values(values, binary):
    if isinstance(values, list):
        return [text_values(value, binary) for value in values]
    if binary:
        return {BASE64: base64.b64encode(values).decode()}
    return values.decode("utf-8", "replace")
