"""Fields of requests: of a query, of the two kinds of HTML forms, or of a JSON object."""

import email.message
from urllib.parse import parse_qsl

from t2t_keras.serving.apis.json_values import parsed_json
from t2t_keras.serving.apis.routes import FORM, JSON, MULTIPART
from t2t_keras.serving.limits import Refusal

MOST_FIELDS = 100  # maximum fields in a form
LONGEST_HEAD = 1000  # bytes of the headers of a field; parsing takes quadratic time


def fields_of(request, body):
    """Returns {field: value}, strings unless the body is JSON.

    A field in the query precedes one in a form. Of several fields with one name, the first counts.

    Args:
        request: aiohttp's request.
        body: its body as bytes.
    """
    kind = request.content_type
    if kind == JSON or kind.endswith("+json"):
        values = parsed_json(body)
        if not isinstance(values, dict):
            raise Refusal(400, "Invalid JSON format")
        return values
    fields = [*request.query.items()]
    try:
        if kind == FORM:
            text = body.decode()
            fields += parse_qsl(text, True, errors="strict", max_num_fields=MOST_FIELDS)
        elif kind == MULTIPART:
            fields += multipart_fields(request.headers["Content-Type"], bytes(body))
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
    boundary = parameter_of(content_type, "boundary")
    if not boundary:
        raise Refusal(400, "The form has no boundary in its Content-Type")
    fields = []
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())
    for part in parts[: MOST_FIELDS + 1]:
        head, separator, value = part.partition(b"\r\n\r\n")
        if not separator or len(head) > LONGEST_HEAD:
            continue  # the end of the form, or not a field of this API
        for line in head.decode().split("\r\n"):
            header, _, content = line.partition(":")
            if header.strip().lower() != "content-disposition":
                continue
            name = parameter_of(content, "name")
            if name is not None and parameter_of(content, "filename") is None:
                fields.append((name, value.decode()))
    if len(parts) > MOST_FIELDS:
        raise ValueError("too many fields")
    return fields


def parameter_of(header, name):
    """Returns a parameter of a header's value, such as the boundary, or None."""
    message = email.message.Message()
    message["Content-Type"] = header.strip()
    found = message.get_param(name)
    return found if isinstance(found, str) else None
