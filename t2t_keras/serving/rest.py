"""The bodies of TensorFlow Serving's REST interface: requests read, answers written.

A request gives rows ("instances") or columns ("inputs"), and is answered in the same way.
https://www.tensorflow.org/tfx/serving/api_rest describes it.
"""

import json
from typing import Any, NamedTuple

from t2t_keras.checks import nearest
from t2t_keras.serving.limits import Refusal
from t2t_keras.serving.tensors import BASE64, array_of, values_of

DEFAULT = "serving_default"
ROWS, COLUMNS = "instances", "inputs"
ANSWERS = {ROWS: "predictions", COLUMNS: "outputs"}


class Query(NamedTuple):
    """What a request asks for."""

    signature: str
    form: str  # "instances" or "inputs"
    given: Any  # what stands there, not looked at yet


def query_of(body):
    """Reads the body of a request: bytes to a `Query`."""
    try:
        request = json.loads(body.decode())
    except UnicodeDecodeError as error:
        raise Refusal(
            400,
            f"The body is no UTF-8 (byte {error.start:,}). Text in another encoding can be sent as "
            'base64: {"b64": "…"}',
        ) from None
    except json.JSONDecodeError as error:
        raise Refusal(
            400, f"JSON parse error: {error.msg} at offset {error.pos:,} (line {error.lineno:,})"
        ) from None
    except RecursionError:
        raise Refusal(400, "JSON parse error: nested too deeply") from None
    except ValueError:
        raise Refusal(400, "JSON parse error: a number has too many digits") from None
    if not isinstance(request, dict):
        raise Refusal(400, f'The body must be a JSON object: {{"{ROWS}": […]}}')
    signature = request.get("signature_name", DEFAULT)
    if not isinstance(signature, str):
        raise Refusal(400, "'signature_name' must be a string")
    forms = [form for form in (ROWS, COLUMNS) if form in request]
    if len(forms) != 1:
        which = "both are" if forms else "neither is"
        raise Refusal(400, f"Give either {ROWS!r} (rows) or {COLUMNS!r} (columns): {which} there")
    return Query(signature or DEFAULT, forms[0], request[forms[0]])


def inputs_of(query, specs, longest):
    """The arrays that a query gives, one for each input of the signature.

    Args:
        query: a `Query`.
        specs: the `Spec` of each input.
        longest: how many bytes a string may have.

    Returns:
        NumPy arrays by name, all with the same number of rows.
    """
    columns = columns_of(query, specs)
    arrays = {name: array_of(name, columns[name], spec, longest) for name, spec in specs.items()}
    rows = {name: len(array) for name, array in arrays.items()}
    if len(set(rows.values())) > 1:
        counts = ", ".join(f"{name} {count}" for name, count in rows.items())
        raise Refusal(400, f"All inputs must have as many rows. Received: {counts}")
    return arrays


def columns_of(query, specs):
    """What is given for each input, whichever form it has."""
    given, only = query.given, next(iter(specs)) if len(specs) == 1 else None
    if query.form == COLUMNS:
        if only and not is_object(given):
            return {only: given}
        check_names(given, specs, "'inputs'")
        return given
    if not isinstance(given, list) or not given:
        raise Refusal(400, f"{ROWS!r} must be a list of one row or more")
    if only and not any(is_object(row) for row in given):
        return {only: given}
    for number, row in enumerate(given):
        check_names(row, specs, f"Row {number}")
    return {name: [row[name] for row in given] for name in specs}


def is_object(value):
    """Whether a value names inputs; base64 in its object is a value itself."""
    return isinstance(value, dict) and set(value) != {BASE64}


def check_names(given, specs, where):
    wanted = ", ".join(specs)
    if not isinstance(given, dict):
        raise Refusal(400, f"{where} must be an object with the inputs: {wanted}")
    for name in given:
        if name not in specs:
            raise Refusal(
                400,
                f"{where} has no input {name[:80]!r}{nearest(name[:80], specs)}. It has: {wanted}",
            )
    missing = [name for name in specs if name not in given]
    if missing:
        raise Refusal(400, f"{where} lacks {', '.join(missing)}. The inputs are: {wanted}")


def answer_of(form, outputs):
    """The body that answers a query of that form, as bytes."""
    values = {name: values_of(name, array) for name, array in outputs.items()}
    if len(values) == 1:
        (answer,) = values.values()
    elif form == ROWS:
        rows = zip(*values.values(), strict=True)
        answer = [dict(zip(values, row, strict=True)) for row in rows]
    else:
        answer = values
    return as_json({ANSWERS[form]: answer})


def as_json(value):
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
