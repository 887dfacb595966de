"""JSON in requests and answers."""

import json

import numpy as np
from aiohttp import web

from t2t_keras.serving.limits import Refusal

PIECE = 50_000  # maximum values of an array converted at a time, because Python objects are large


def parsed_json(body):
    """Returns the JSON value in a request body, given as bytes."""
    try:
        value = json.loads(body.decode())
        if b"\\ud" in body.lower():  # perhaps half of a pair of surrogates, which is not text
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise Refusal(400, f"The body is not UTF-8 (byte {error.start:,})") from None
    except UnicodeEncodeError:
        raise Refusal(400, "A string contains an unpaired surrogate, which is not text") from None
    except json.JSONDecodeError as error:
        raise Refusal(
            400, f"JSON parse error: {error.msg} at offset {error.pos:,} (line {error.lineno:,})"
        ) from None
    except (RecursionError, ValueError):
        raise Refusal(400, "JSON parse error: nested too deeply, or too many digits") from None
    return value


def check_rows(rows, limits):
    if len(rows) > limits.rows:
        raise Refusal(
            413, f"The request has {len(rows):,} rows; at most {limits.rows:,} are allowed"
        )


def json_response(value, status=200):
    return web.Response(body=as_json(value), status=status, content_type="application/json")


def as_json(value):
    """Returns a value, which may contain arrays of numbers, as JSON in bytes."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, default=listed)
    return text.encode("utf-8", "replace")


def listed(array):
    """Converts an array to lists for JSON, with None for NaN and infinities.

    TensorFlow Serving writes NaN and Infinity, which are not JSON: strict parsers reject the
    whole answer. Like TensorFlow Serving, this writes a float32 with the fewest digits that
    identify it. Arrays inside a large array are returned as arrays, to be converted one by one.
    """
    if array.size > PIECE and array.ndim > 1:
        return list(array)
    array = array.astype(np.float32).astype("U16").astype(np.float64)
    if np.isfinite(array).all():
        return array.tolist()
    return np.where(np.isfinite(array), array.astype(object), None).tolist()
