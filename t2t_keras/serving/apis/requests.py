"""Bodies of requests, read within the limits, and the fields of forms, JSON objects and queries."""

import email
from urllib.parse import parse_qsl

from aiohttp import web

from t2t_keras.serving.apis.json_values import parsed_json
from t2t_keras.serving.apis.routes import FORMS, JSON
from t2t_keras.serving.connections import Connection
from t2t_keras.serving.limits import Refusal

CONNECTION = web.RequestKey("connection", Connection)
MOST_FIELDS = 100  # maximum fields in a form
LONGEST_HEAD = 1000  # characters of a field's header; parsing takes quadratic time


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

    Args:
        request: aiohttp's request.
        body: its body as bytes.
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
            fields += multipart_fields(request.headers["Content-Type"], body)
    except UnicodeDecodeError:
        raise Refusal(400, "The form is not UTF-8") from None
    except ValueError:
        raise Refusal(400, f"The form has more than {MOST_FIELDS} fields") from None
    found = {}
    for name, value in fields:
        found.setdefault(name, value)
    # Browsers send line breaks as CRLF.
    return {name: value.replace("\r\n", "\n") for name, value in found.items()}


def multipart_fields(content_type, body):
    """Returns (name, value) of each field of a multipart form. Files are ignored."""
    return [
        (name, part.get_payload(decode=True).decode())
        for name, part in parts_of(content_type, body)
        if part.get_filename() is None
    ]


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
