"""Bodies of requests, read within the limits: JSON and forms. Bodies of answers in JSON."""

import email
import json
from urllib.parse import parse_qsl

import numpy as np
from aiohttp import web

from t2t_keras.serving.apis.routes import FORMS, JSON
from t2t_keras.serving.connections import Connection
from t2t_keras.serving.limits import Refusal

CONNECTION = web.RequestKey("connection", Connection)
MOST_FIELDS = 100  # maximum fields in a form
LONGEST_HEAD = 1000  # characters of a field's header; parsing takes quadratic time
PIECE = 50_000  # maximum values of an array converted at a time, because Python objects are large


async def body_of(request, limits, limit="max_body_bytes"):
    """Returns the body of a request as bytes. `limit` is the name of its limit."""
    connection, most, body = request[CONNECTION], getattr(limits, limit), bytearray()
    size = request.content_length or 0
    connection.wait_for_client()
    try:
        while size <= most and (chunk := await request.content.readany()):
            body += chunk
            size = max(size, len(body))
            connection.hold(len(chunk))
    finally:
        connection.work()
    if size > most:
        reason = f"A request may have at most {most:,} bytes (--{limit} of the server)"
        raise Refusal(413, reason)
    return body


def fields_of(request, body):
    """Returns {field: value}, strings unless the body is JSON.

    A field in the query precedes one in a form. Of several fields with one name, the first counts.
    """
    kind, (form, multipart) = request.content_type, FORMS
    if kind == JSON or kind.endswith("+json"):
        values = parsed_json(body)
        if not isinstance(values, dict):
            raise Refusal(400, "Invalid JSON format")
        return values
    fields = [*request.query.items()]
    try:
        if kind == form:
            fields += parse_qsl(body.decode(), True, errors="strict", max_num_fields=MOST_FIELDS)
        elif kind == multipart:
            for name, part in parts_of(request.headers["Content-Type"], body):
                if part.get_filename() is None:  # it is no file
                    fields.append((name, part.get_payload(decode=True).decode()))
    except UnicodeDecodeError:
        raise Refusal(400, "The form is not UTF-8") from None
    except ValueError:
        raise Refusal(400, f"The form has more than {MOST_FIELDS} fields") from None
    # Reversed, so that the first of several fields counts. Browsers send line breaks as CRLF.
    return {name: value.replace("\r\n", "\n") for name, value in reversed(fields)}


def file_in(request, body):
    """Returns the name and the bytes of the file in the field `file` of a multipart form."""
    if request.content_type == FORMS[1]:
        for name, part in parts_of(request.headers["Content-Type"], body):
            if name == "file" and part.get_filename():
                return part.get_filename(), part.get_payload(decode=True)
    raise Refusal(400, "Invalid request: missing file parameter")


def parts_of(content_type, body):
    """Yields (name, part) of each field of a multipart form."""
    form = email.message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + body)
    if not form.get_boundary():
        raise Refusal(400, "The form has no boundary in its Content-Type")
    parts = form.get_payload() if form.is_multipart() else []
    if len(parts) > MOST_FIELDS:
        raise ValueError("too many fields")
    header = "Content-Disposition"
    for part in parts:
        if len(raw := dict(part.raw_items()).get(header, "")) <= LONGEST_HEAD:
            if not raw.isascii():  # browsers write the names of files in UTF-8
                raw = raw.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                part.replace_header(header, raw)
            name = part.get_param("name", header=header)
            if name is not None:
                yield str(name), part


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
