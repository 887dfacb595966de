"""Requests of many rows to a server, in parts that it accepts."""

from support.serving.serving_client import predict

ROWS = 200
BYTES = 2_000_000


def predictions(address, rows, signature="serving_default"):
    """Returns the predictions for any number of rows, a list of objects for JSON."""
    answers = []
    for part in parts(rows):
        body = {"signature_name": signature, "instances": part}
        status, answer = predict(address, body, seconds=600)  # a megabyte has a thousand parts
        assert status == 200, answer
        answers += answer["predictions"]
    return answers


def parts(rows):
    """Yields lists of at most `ROWS` rows of about `BYTES` bytes together."""
    part, size = [], 0
    for row in rows:
        part.append(row)
        size += sum(len(value["b64"]) for value in row.values())
        if len(part) == ROWS or size > BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part
