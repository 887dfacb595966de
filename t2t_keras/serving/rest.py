"""Request and response bodies of TensorFlow Serving's REST interface.

A request has rows ("instances") or columns ("inputs"), and its answer has the same form. See
https://www.tensorflow.org/tfx/serving/api_rest.
"""

import json
from typing import Any, NamedTuple

import numpy as np

from t2t_keras.checks import nearest
from t2t_keras.export.signature_names import OPTIONS
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.tensors import BASE64, array_of, check_rows, filled, values_of
from t2t_keras.translating.request import FIELDS

DEFAULT = "serving_default"
ROWS, COLUMNS = "instances", "inputs"
ANSWERS = {ROWS: "predictions", COLUMNS: "outputs"}
PIECE = 50_000  # maximum values converted to JSON at a time, because Python objects are large


class Query(NamedTuple):
    """A parsed request body."""

    signature: str
    form: str  # "instances" or "inputs"
    values: Any  # the JSON value of that key, before any check


def parsed_json(body, other_encodings="Send text in UTF-8"):
    """Returns the JSON value in a request body, given as bytes.

    Args:
        body: the body.
        other_encodings: advice about text that is not UTF-8.
    """
    try:
        return json.loads(body.decode())
    except UnicodeDecodeError as error:
        raise Refusal(
            400,
            f"The body is not UTF-8 (byte {error.start:,}). {other_encodings}",
        ) from None
    except json.JSONDecodeError as error:
        raise Refusal(
            400, f"JSON parse error: {error.msg} at offset {error.pos:,} (line {error.lineno:,})"
        ) from None
    except RecursionError:
        raise Refusal(400, "JSON parse error: nested too deeply") from None
    except ValueError:
        raise Refusal(400, "JSON parse error: a number has too many digits") from None


def query_of(body):
    """Parses a request body, given as bytes, into a `Query`."""
    request = parsed_json(body, 'Send text in other encodings as base64: {"b64": "…"}')
    if not isinstance(request, dict):
        raise Refusal(400, f'The body must be a JSON object: {{"{ROWS}": […]}}')
    signature = request.get("signature_name", DEFAULT)
    if not isinstance(signature, str):
        raise Refusal(400, "'signature_name' must be a string")
    forms = [form for form in (ROWS, COLUMNS) if form in request]
    if len(forms) != 1:
        received = "both" if forms else "neither"
        raise Refusal(
            400,
            f"The body must have either {ROWS!r} (rows) or {COLUMNS!r} (columns). "
            f"Received: {received}",
        )
    return Query(signature or DEFAULT, forms[0], request[forms[0]])


def inputs_of(query, specs, limits, longest):
    """Converts a query to arrays, one for each input of the signature.

    Args:
        query: a `Query`.
        specs: the `Spec` of each input.
        limits: `Limits`.
        longest: maximum bytes of a string, and the flag that sets it.

    Returns:
        {input: array}, all with the same number of rows. Inputs with a default may be omitted, in
        some rows or in all.
    """
    columns = columns_of(query, specs, limits)
    arrays = {
        name: array_of(name, columns[name], spec, limits, longest)
        for name, spec in specs.items()
        if name in columns
    }
    rows = {name: len(array) for name, array in arrays.items()}
    if len(set(rows.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in rows.items())
        raise Refusal(400, f"All inputs must have the same number of rows. Received: {counts}")
    left_out = specs.keys() - columns.keys()
    return arrays | {name: filled(specs[name], max(rows.values())) for name in left_out}


def columns_of(query, specs, limits):
    """Returns {input: JSON value}, from rows or columns, without omitted inputs."""
    required = [name for name, spec in specs.items() if spec.default is None] or list(specs)
    values, only = query.values, required[0] if len(required) == 1 else None
    if query.form == COLUMNS:
        if only and not names_inputs(values):
            return {only: values}
        check_names(values, specs, required, "'inputs'")
        return values
    if not isinstance(values, list) or not values:
        raise Refusal(400, f"{ROWS!r} must be a list of one row or more")
    check_rows(values, limits)
    if only and not any(names_inputs(row) for row in values):
        return {only: values}
    for index, row in enumerate(values):
        check_names(row, specs, required, f"Row {index}")
    given = [name for name in specs if any(name in row for row in values)]
    return {name: [row.get(name, specs[name].default) for row in values] for name in given}


def names_inputs(value):
    """Whether a value is an object {input: value}, not a base64 string."""
    return isinstance(value, dict) and set(value) != {BASE64}


def check_names(value, specs, required, where):
    """Rejects a value that is not an object with all required inputs and no unknown ones."""
    known = ", ".join(specs)
    if not isinstance(value, dict):
        raise Refusal(400, f"{where} must be an object with the inputs: {known}")
    for name in value:
        if name not in specs:
            advice = f"{nearest(name[:80], specs)}. The inputs are: {known}"
            if name in FIELDS and len(specs) == 1:
                advice = f'. Options need "signature_name": "{OPTIONS}"'
            raise Refusal(400, f"{where} has an unknown input {name[:80]!r}{advice}")
    missing = [name for name in required if name not in value]
    if missing:
        raise Refusal(400, f"{where} lacks {', '.join(missing)}. The inputs are: {known}")


def answer_of(form, outputs):
    """Returns the response body, as bytes, in the form of the query."""
    if len(outputs) == 1:
        (output,) = outputs.items()
        pieces = pieces_of(*output)
    elif form == ROWS:
        pieces = pieces_of_rows(outputs)
    else:
        pieces = pieces_of_columns(outputs)
    return b"".join([b"{", as_json(ANSWERS[form]), b": ", *pieces, b"}"])


def pieces_of_rows(outputs):
    """Yields the JSON text of rows, each an object with an entry for each output."""
    count = len(next(iter(outputs.values())))
    values = sum(array.size for array in outputs.values()) // count
    step = max(1, PIECE // values)
    yield b"["
    for start in range(0, count, step):
        if start:
            yield b", "
        block = {name: array[start : start + step] for name, array in outputs.items()}
        if values > PIECE:
            yield from pieces_of_columns({name: array[0] for name, array in block.items()})
        else:
            columns = [values_of(name, array) for name, array in block.items()]
            rows = [dict(zip(block, row, strict=True)) for row in zip(*columns, strict=True)]
            yield as_json(rows)[1:-1]
    yield b"]"


def pieces_of_columns(outputs):
    """Yields the JSON text of an object with an entry for each output."""
    yield b"{"
    for index, (name, array) in enumerate(outputs.items()):
        yield b", " if index else b""
        yield as_json(name) + b": "
        yield from pieces_of(name, np.asarray(array))
    yield b"}"


def pieces_of(name, array):
    """Yields the JSON text of an array."""
    if array.size <= PIECE or array.ndim == 1:
        yield as_json(values_of(name, array))
        return
    yield b"["
    for index, part in enumerate(array):
        yield b", " if index else b""
        yield from pieces_of(name, part)
    yield b"]"


def as_json(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
